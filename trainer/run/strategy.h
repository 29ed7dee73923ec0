/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of this process in its run: its rank, the number of its replicas, and whether all
 * sources of these agree.
 *
 *   mirrored       one process, one thread per device         comm thread (self with one device)
 *   multi-worker   one process per device                     comm mpi (self with one task)
 *
 * With several GPUs both use nccl, unless tasks were started by hand without a cluster spec (mpi).
 *
 * The sources: run.json (layout), the cluster spec (TF_CONFIG), Slurm's step (SLURM_STEP_NUM_TASKS,
 * SLURM_PROCID), the MPI launcher's environment, and MPI itself. Where two differ, the run does not
 * start, and one message says what was expected, what was found, and where. */
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
    int tasks, task; /* processes of the run, and the index of this one */
    int replicas;    /* of this process */
    int threads;     /* per replica */
    char host[256];  /* its name in Slurm, or in the system */
    struct spec spec; /* without workers when there is none */
};

/* What the launcher of this process says. Without one: 1, and the rank in TF_CONFIG or 0. */
int strategy_launched_tasks(void);
int strategy_launched_task(void);

/* The index of this process on its node, from the launcher; 0 without one. */
int strategy_local_rank(void);

/* Cores that this process may run on. */
int strategy_own_cores(void);

/* ERR_PEER when the sources disagree. by_hand: several tasks need no cluster spec. */
int strategy_decide(const struct settings *config, bool by_hand, struct strategy *s,
                    struct err *e);

const char *strategy_comm_name(const struct strategy *s);

void strategy_destroy(struct strategy *s);

/* The rendezvous of several tasks with a cluster spec, by the token in the folder of the results;
 * *dst is NULL for a run that needs none. device: of this task, as in struct rendezvous_config.
 * blob: nbytes that all ranks receive from rank 0. *relayed: rank 0 reports the error. */
int strategy_meet(const struct strategy *s, const struct settings *config, const char *out,
                  const char *device, void *blob, size_t nbytes, const atomic_int *interrupt,
                  struct rendezvous **dst, bool *relayed, struct err *e);

/* Does MPI agree? Called when it has started. */
int strategy_check_comm(const struct strategy *s, const struct comm *c, struct err *e);

#endif
