/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of one node, each a process, which exchange everything in shared memory (node.h). Sums add
 * in the order of ranks, so the result always has the same bits. */
#ifndef UNETCTL_TRAINER_COMM_COMM_NODE_H
#define UNETCTL_TRAINER_COMM_COMM_NODE_H

#include "trainer/comm/comm.h"
#include "trainer/comm/node.h"

struct comm_node_config {
    int rank, size;
    const char *host;
    const struct node_offer *offer; /* memory of all ranks, rank 0 included, that is joined */
    double timeout_s;
    const atomic_int *interrupt; /* as in struct comm */
    struct lifeline *lifeline;   /* as in struct comm */
};

/* NULL on error. */
struct comm *comm_node_open(const struct comm_node_config *config, struct err *e);

#endif
