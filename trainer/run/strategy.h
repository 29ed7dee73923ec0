/* SPDX-License-Identifier: BSD-3-Clause */
/* The role of this process in its run: its rank, and how ranks are connected. Each GPU has a
 * process of its own.
 *
 *   mirrored       one task, which forks a rank per GPU (local_ranks.h)     comm node
 *   multi-worker   one task per GPU, started by srun or mpirun              comm mpi
 *
 * One GPU has comm self, several GPUs nccl, for which tasks that were started need a cluster spec.
 *
 * The sources are run.json (layout), the cluster spec (TF_CONFIG), the launcher's environment (Open
 * MPI's, PMI's or, without those, Slurm's step: SLURM_STEP_NUM_TASKS, SLURM_PROCID), and MPI
 * itself. If two differ, the run does not start, and the error names both. */
#ifndef UNETCTL_TRAINER_RUN_STRATEGY_H
#define UNETCTL_TRAINER_RUN_STRATEGY_H

#include <stdbool.h>

#include "trainer/comm/comm.h"
#include "trainer/comm/rendezvous/rendezvous.h"
#include "trainer/run/local_ranks.h"
#include "trainer/run/run_config.h"
#include "trainer/run/spec_read.h"

enum strategy_comm { STRATEGY_SELF, STRATEGY_NODE, STRATEGY_MPI, STRATEGY_NCCL };

struct strategy {
    enum strategy_comm comm;
    int tasks, task; /* processes of the run, and the index of this one */
    int threads;     /* of this process */
    char host[256];  /* this node's name in Slurm, or else its host name */
    struct spec spec; /* without workers if there is none; of forked ranks one of their own */
    const struct local_ranks *local; /* of forked ranks, else NULL */
};

/* Return the number of tasks and the index of this one by the launcher's environment. Without a
 * launcher they are 1, and the rank among those forked, in TF_CONFIG, or 0. */
int strategy_launched_tasks(void);
int strategy_launched_task(void);

/* Returns the index of this process on its node: among forked ranks, or by the launcher's
 * environment; 0 without one. */
int strategy_local_rank(void);

/* Returns the number of cores that this process may run on. */
int strategy_own_cores(void);

/* Sets *s. by_hand: several tasks do not need a cluster spec. local: of forked ranks, else NULL.
 * -1 with ERR_PEER if the sources disagree, or the cluster spec is needed and missing. */
int strategy_decide(const struct settings *config, bool by_hand, const struct local_ranks *local,
                    struct strategy *s, struct err *e);

const char *strategy_comm_name(const struct strategy *s);

void strategy_destroy(struct strategy *s);

/* Opens the rendezvous of several ranks that were forked, or have a cluster spec and the token in
 * out, the folder of the results; *dst is NULL if the run does not need one. device: as in struct
 * rendezvous_config. blob: nbytes that all ranks receive from rank 0. *relayed is set if rank 0
 * reports the error. */
int strategy_meet(const struct strategy *s, const struct settings *config, const char *out,
                  const char *device, void *blob, size_t nbytes, const atomic_int *interrupt,
                  struct rendezvous **dst, bool *relayed, struct err *e);

/* Checks that MPI, once it has started, agrees with *s. -1 with ERR_PEER. */
int strategy_check_comm(const struct strategy *s, const struct comm *c, struct err *e);

#endif
