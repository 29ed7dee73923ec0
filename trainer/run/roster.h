/* SPDX-License-Identifier: BSD-3-Clause */
/* Who takes part in a run: gathered once from every rank, so that rank 0 can name the hosts, and
 * each rank can see that all of them do the same run. */
#ifndef UNETCTL_TRAINER_RUN_ROSTER_H
#define UNETCTL_TRAINER_RUN_ROSTER_H

#include <stdbool.h>

#include "trainer/comm/comm.h"

struct roster_entry {
    char host[256];
    uint64_t machine;  /* equal for ranks on one running kernel, whatever they call their host */
    uint64_t process;  /* equal for the replicas of one process */
    int threads, cores;
    uint64_t device;   /* network_device */
    uint64_t config_hash, plan_hash, data_hash;
};

struct roster {
    int size;
    struct roster_entry *entries; /* by rank */
};

/* Fills in machine, process and cores of `own`. */
void roster_describe(struct roster_entry *own);

/* Collective. ERR_PEER on every rank when one differs from rank 0 in what it would do. */
int roster_gather(struct comm *c, const struct roster_entry *own, struct roster *roster,
                  struct err *e);
void roster_destroy(struct roster *roster);

/* How many of the replicas are on this rank's machine. */
int roster_sharers(const struct roster *roster, int rank);

/* More replicas x threads on a machine than it has cores? */
bool roster_is_oversubscribed(const struct roster *roster);

#endif
