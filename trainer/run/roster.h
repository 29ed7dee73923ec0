/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a run, gathered once on every rank: the hosts, and a check that all ranks do the
 * same run. */
#ifndef UNETCTL_TRAINER_RUN_ROSTER_H
#define UNETCTL_TRAINER_RUN_ROSTER_H

#include <stdbool.h>

#include "trainer/comm/comm.h"

struct roster_entry {
    char host[256];
    uint64_t machine;  /* equal for ranks on one running kernel, whatever the name of their host */
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

/* Collective. ERR_PEER on every rank when one would do another run than rank 0. */
int roster_gather(struct comm *c, const struct roster_entry *own, struct roster *roster,
                  struct err *e);
void roster_destroy(struct roster *roster);

/* The number of replicas on this rank's machine. */
int roster_sharers(const struct roster *roster, int rank);

/* Has a machine more threads of replicas than cores? */
bool roster_is_oversubscribed(const struct roster *roster);

#endif
