/* SPDX-License-Identifier: BSD-3-Clause */
/* Who this process is in its run: how many replicas it drives, which rank it has, and whether the
 * sources that tell it agree.
 *
 *   mirrored       one process, one thread per device         comm thread (self with one device)
 *   multi-worker   one process per device                     comm mpi (self with one task)
 *
 * With several GPUs it is nccl for both; mpi for tasks started by hand without a cluster spec.
 *
 * The sources: run.json (layout), the cluster spec (TF_CONFIG), Slurm's step (SLURM_STEP_NUM_TASKS,
 * SLURM_PROCID), the MPI launcher's environment, and MPI itself. Where two differ, the run does not
 * start: one message says what was expected, what was found, and where. */
#ifndef UNETCTL_TRAINER_RUN_STRATEGY_H
#define UNETCTL_TRAINER_RUN_STRATEGY_H

#include <stdbool.h>

#include "trainer/comm/comm.h"
#include "trainer/comm/rendezvous/rendezvous.h"
#include "trainer/run/run_config.h"
#include "trainer/run/spec_read.h"

enum strategy_comm { STRATEGY_SELF, STRATEGY_THREAD, STRATEGY_MPI, STRATEGY_NCCL };

struct strategy {
    enum strategy_comm comm;
    int tasks, task; /* processes of the run, which one this is */
    int replicas;    /* of this process */
    int threads;     /* per replica */
    char host[256];  /* as Slurm calls it, else as the system does */
    struct spec spec; /* no workers when there is none */
};

/* What the launcher around this process says. Without one: 1, and the place in TF_CONFIG or 0. */
int strategy_launched_tasks(void);
int strategy_launched_task(void);

/* This process's number among those of its node, as the launcher says; 0 without one. */
int strategy_local_rank(void);

/* Cores that this process may run on. */
int strategy_own_cores(void);

/* ERR_PEER when the sources disagree. by_hand: no cluster spec is needed for several tasks. */
int strategy_decide(const struct settings *config, bool by_hand, struct strategy *s,
                    struct err *e);

const char *strategy_comm_name(const struct strategy *s);

void strategy_destroy(struct strategy *s);

/* Several tasks with a cluster spec meet, with the token in the folder of the results: 0. *relayed:
 * the error is one that rank 0 tells. A run that needs no meeting: 0, and *dst is NULL. device:
 * this task's, as struct rendezvous_config has it; blob: nbytes of rank 0 that all get. */
int strategy_meet(const struct strategy *s, const struct settings *config, const char *out,
                  const char *device, void *blob, size_t nbytes, const atomic_int *interrupt,
                  struct rendezvous **dst, bool *relayed, struct err *e);

/* The same question to MPI, as soon as it is up. */
int strategy_check_comm(const struct strategy *s, const struct comm *c, struct err *e);

#endif
