/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of one node, each a process, which exchange everything in shared memory (node.h). Sums add
 * in the order of ranks, so the result always has the same bits. */
#ifndef UNETCTL_TRAINER_COMM_COMM_NODE_H
#define UNETCTL_TRAINER_COMM_COMM_NODE_H

#include "trainer/comm/comm.h"
#include "trainer/comm/node.h"

/* offer: the memory of all ranks, rank 0 included, that is joined. NULL on error. */
struct comm *comm_node_open(const struct comm_config *config, const struct node_offer *offer,
                            struct err *e);

#endif
