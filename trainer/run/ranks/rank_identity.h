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
#ifndef UNETCTL_TRAINER_RUN_RANKS_RANK_IDENTITY_H
#define UNETCTL_TRAINER_RUN_RANKS_RANK_IDENTITY_H

#include <stdbool.h>

#include "src/settings/settings.h"
#include "trainer/comm/comm.h"
#include "trainer/run/ranks/local_ranks.h"
#include "trainer/run/ranks/spec_read.h"

enum rank_identity_comm {
    RANK_IDENTITY_SELF, RANK_IDENTITY_NODE, RANK_IDENTITY_MPI, RANK_IDENTITY_NCCL
};

struct rank_identity {
    enum rank_identity_comm comm;
    int tasks, task; /* processes of the run, and the index of this one */
    int threads;     /* of this process */
    char host[256];  /* this node's name in Slurm, or else its host name */
    struct spec spec; /* without workers if there is none; of forked ranks one of their own */
    const struct local_ranks *local; /* of forked ranks, else NULL */
};

/* Return the number of tasks and the index of this one by the launcher's environment. Without a
 * launcher they are 1, and the rank among those forked, in TF_CONFIG, or 0. */
int rank_identity_launched_tasks(void);
int rank_identity_launched_task(void);

/* Returns the index of this process on its node: among forked ranks, or by the launcher's
 * environment; 0 without one. */
int rank_identity_local_rank(void);

/* Returns the number of cores that this process may run on. */
int rank_identity_own_cores(void);

/* Sets *s. by_hand: several tasks do not need a cluster spec. local: of forked ranks, else NULL.
 * -1 with ERR_PEER if the sources disagree, or the cluster spec is needed and missing. */
int rank_identity_decide(const struct settings *config, bool by_hand,
                         const struct local_ranks *local, struct rank_identity *s, struct err *e);

const char *rank_identity_comm_name(const struct rank_identity *s);

void rank_identity_destroy(struct rank_identity *s);

/* Checks that MPI, once it has started, agrees with *s. -1 with ERR_PEER. */
int rank_identity_check_comm(const struct rank_identity *s, const struct comm *c, struct err *e);

#endif
