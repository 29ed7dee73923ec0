/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rank this process is, and the ranks that it forks.
 *
 * run/ and cmd/ call it before anything else: rank_identity_decide compares run.json, the cluster
 * spec, the launcher's environment and, later, MPI; local_ranks_run forks one process per GPU when
 * there is no launcher; roster_gather compares what the ranks run once they are connected. A
 * disagreement is an error that names both sources, and no rank computes.
 *
 * To read: rank_identity.c, then local_ranks.c, which has the roster, too. */
#pragma once

#include "src/settings/settings.h"
#include "trainer/comm/comm_open.h"

/* The cluster spec of a rank, from TF_CONFIG (doc/FORMATS.md). The jobs "chief" and "worker" train,
 * and the chief is rank 0, as in TensorFlow's MultiWorkerMirroredStrategy. */

struct spec {
    int nworkers;
    char **hosts; /* by rank, without port */
    int *ports;
    int rank;     /* of this task */
};

/* Decodes the JSON text. -1 with ERR_PEER if it is not JSON, has an unknown key or job type, an
 * address without host or port, or a task that is not in the cluster. */
int spec_read(const char *text, struct spec *spec, struct err *e);
void spec_destroy(struct spec *spec);

/* The ranks of a run on one node, as processes that this one forks: each GPU has a process of its
 * own, without a launcher. The parent computes nothing. It forwards SIGINT, SIGTERM and SIGUSR1,
 * prints one error, ends with its ranks, and they end with it. A rank that has not ended some time
 * after another has failed, or after a second SIGINT or SIGTERM, is killed. */

/* A second SIGTERM so many seconds after the first ends a run without a checkpoint, with this
 * error. */
#define LOCAL_RANKS_TWICE_S 2.0
#define LOCAL_RANKS_TWICE_TEXT "stopped by a second SIGTERM before a checkpoint was written; the " \
    "same command continues from an earlier one"

/* What the ranks need to meet (rendezvous.h). */
struct local_ranks {
    int rank, size;
    int listener, port; /* of rank 0: a socket that listens at this port of 127.0.0.1 */
    unsigned char token[TOKEN_SIZE];
    struct node_offer node; /* memory of all ranks, which rank 0 joins as well */
};

/* Runs one rank in this process. Returns 0, or -1 with *e; *relayed: another rank reports it. */
typedef int (*local_rank_f)(void *arg, const struct local_ranks *ranks, bool *relayed,
                            struct err *e);

/* Forks `size` ranks. Returns 0, or -1 with the error of the first rank (by number) that failed by
 * itself, and the exit code of the one that failed first. In a rank it returns the exit code of the
 * process, which must end without a message then. Called before any thread is started, and before
 * a device is used. grace_s: for the other ranks to end after one has failed. */
int local_ranks_run(int size, double grace_s, local_rank_f body, void *arg, struct err *e);

/* Returns the rank of this process among those that were forked, or -1. */
int local_ranks_index(void);

/* The role of this process in its run: its rank, and how ranks are connected. Each GPU has a
 * process of its own.
 *
 *   mirrored       one task, which forks a rank per GPU                       comm node
 *   multi-worker   one task per GPU, started by srun or mpirun              comm mpi
 *
 * One GPU has comm self, several GPUs nccl, for which tasks that were started need a cluster spec.
 *
 * The sources are run.json (layout), the cluster spec (TF_CONFIG), the launcher's environment (Open
 * MPI's, PMI's or, without those, Slurm's step: SLURM_STEP_NUM_TASKS, SLURM_PROCID), and MPI
 * itself. If two differ, the run does not start, and the error names both. */

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

int rank_identity_own_cores(void);

/* Sets *s. by_hand: several tasks do not need a cluster spec. local: of forked ranks, else NULL.
 * -1 with ERR_PEER if the sources disagree, or the cluster spec is needed and missing. */
int rank_identity_decide(const struct settings *config, bool by_hand,
                         const struct local_ranks *local, struct rank_identity *s, struct err *e);

const char *rank_identity_comm_name(const struct rank_identity *s);

void rank_identity_destroy(struct rank_identity *s);

/* Checks that MPI, once it has started, agrees with *s. -1 with ERR_PEER. */
int rank_identity_check_comm(const struct rank_identity *s, const struct comm *c, struct err *e);

/* The roster lists all ranks of a run, on every rank: their hosts and cores, and hashes that show
 * whether all execute the same run. */

struct roster_entry {
    char host[256];
    uint64_t machine;  /* equal for ranks on one running kernel, whatever the name of their host */
    int threads, cores; /* of the rank; of the machine */
    char processor[128]; /* what computes: the name of the GPU, or of the CPU */
    uint64_t config_hash, plan_hash, data_hash;
};

struct roster {
    int size;
    struct roster_entry *entries; /* by rank */
};

/* Returns whether ranks may share a GPU (UNET_SHARE_GPU=1, for tests: NCCL then needs another
 * NCCL_HOSTID for each rank, and is as slow as a network). */
bool roster_shares_gpus(void);

/* Sets machine and cores of *own, whose host is set. */
void roster_describe(struct roster_entry *own);

/* Gathers the entries of all ranks; collective. -1 with ERR_PEER on every rank if one has another
 * configuration, data set or plan than rank 0. */
int roster_gather(struct comm *c, const struct roster_entry *own, struct roster *roster,
                  struct err *e);
void roster_destroy(struct roster *roster);

/* Returns the number of ranks on the machine of the given rank. */
int roster_sharers(const struct roster *roster, int rank);

/* Writes the names of all ranks' processors to dst, each once, joined by " + ". Returns the first
 * rank with another processor than rank 0, or 0 if there is none. */
int roster_processors(const struct roster *roster, char *dst, size_t size);

/* Returns whether the ranks of some machine have more threads than it has cores. */
bool roster_is_oversubscribed(const struct roster *roster);
