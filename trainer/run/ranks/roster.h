/* SPDX-License-Identifier: BSD-3-Clause */
/* The roster lists all ranks of a run, on every rank: their hosts and cores, and hashes that show
 * whether all execute the same run. */
#ifndef UNETCTL_TRAINER_RUN_RANKS_ROSTER_H
#define UNETCTL_TRAINER_RUN_RANKS_ROSTER_H

#include <stdbool.h>

#include "trainer/comm/comm.h"

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

#endif
