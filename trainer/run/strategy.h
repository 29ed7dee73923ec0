/* SPDX-License-Identifier: BSD-3-Clause */
/* The role of this process in its run: its rank, its number of replicas, and how replicas are
 * connected.
 *
 *   mirrored       one process, one thread per device         comm thread (self with one device)
 *   multi-worker   one process per device                     comm mpi (self with one task)
 *
 * With several GPUs both use nccl, but tasks that were started by hand without a cluster spec use
 * mpi. train.comm may name another communicator.
 *
 * The sources are run.json (layout), the cluster spec (TF_CONFIG), the launcher's environment (Open
 * MPI's, PMI's or, without those, Slurm's step: SLURM_STEP_NUM_TASKS, SLURM_PROCID), and MPI
 * itself. If two differ, the run does not start, and the error names both. */
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
    char host[256];  /* this node's name in Slurm, or else its host name */
    struct spec spec; /* without workers if there is none */
};

/* Return the number of tasks and the index of this one by the launcher's environment. Without a
 * launcher they are 1, and the rank in TF_CONFIG or 0. */
int strategy_launched_tasks(void);
int strategy_launched_task(void);

/* Returns the index of this process on its node by the launcher's environment; 0 without one. */
int strategy_local_rank(void);

/* Returns the number of cores that this process may run on. */
int strategy_own_cores(void);

/* Sets *s. by_hand: several tasks do not need a cluster spec. -1 with ERR_PEER if the sources
 * disagree, or the cluster spec is needed and missing. */
int strategy_decide(const struct settings *config, bool by_hand, struct strategy *s,
                    struct err *e);

const char *strategy_comm_name(const struct strategy *s);

void strategy_destroy(struct strategy *s);

/* Opens the rendezvous of several tasks with a cluster spec, with the token in out, the folder of
 * the results; *dst is NULL if the run does not need one. device: as in struct rendezvous_config.
 * blob: nbytes that all ranks receive from rank 0. *relayed is set if rank 0 reports the error. */
int strategy_meet(const struct strategy *s, const struct settings *config, const char *out,
                  const char *device, void *blob, size_t nbytes, const atomic_int *interrupt,
                  struct rendezvous **dst, bool *relayed, struct err *e);

/* Checks that MPI, once it has started, agrees with *s. -1 with ERR_PEER. */
int strategy_check_comm(const struct strategy *s, const struct comm *c, struct err *e);

#endif
