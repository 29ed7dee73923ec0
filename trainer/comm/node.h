/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, or maxima, over the ranks of one node, which are processes, in memory that all of them have
 * mapped: each rank reduces its share between two barriers, or of few values all (shared_reduce.h).
 * Values in the node's buffer (node_share_buffer) are summed there; other values are
 * copied to shared memory and back.
 *
 * The first rank creates the memory by memfd_create, and the others open it through /proc, so that
 * the kernel frees it however the ranks end. */
#ifndef UNETCTL_TRAINER_COMM_NODE_H
#define UNETCTL_TRAINER_COMM_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/comm/shared_reduce.h"

struct node;

/* What the first rank sends to the others by other means (MPI) so that they can map its memory. */
struct node_offer {
    char path[64];
    /* Random, also at the beginning of the memory of node_offer, which is thus recognised: another
     * process may have got the process id in path. */
    unsigned char key[16];
    size_t nbytes;
};

/* Rank 0 calls node_offer and sends the offer to the others, which call node_join. Or another
 * process offers the memory to all ranks, rank 0 included. rank and size are those within the node.
 * Return NULL on error; then no rank may use the node. */
struct node *node_offer(int size, struct node_offer *dst, struct err *e);
struct node *node_join(int rank, int size, const struct node_offer *offer, struct err *e);
void node_destroy(struct node *g); /* NULL is allowed */

/* `check` is called by the waits of node_reduce, `small` by those of node_reduce_small, both with
 * arg. */
void node_set_check(struct node *g, barrier_check_f check, barrier_check_f small, void *arg);

/* Collective, at most once: allocates memory for n floats of each rank. *own: this rank's floats,
 * zeroed, which the node owns. spins: as in barrier.h. */
int node_share_buffer(struct node *g, bool spins, size_t n, float **own, struct err *e);

/* Collective: every rank brings slices of the same sizes and operations, either all or none of them
 * in the buffer. across: includes other nodes; NULL if there are none. */
int node_reduce(struct node *g, bool spins, const struct slice *slices, size_t nslices,
                shared_reduce_across_f across, void *arg, struct err *e);

/* node_start keeps a slice; node_finish does as node_reduce for all that were kept, each in the
 * buffer or elsewhere. */
int node_start(struct node *g, struct slice s, struct err *e);
int node_finish(struct node *g, bool spins, shared_reduce_across_f across, void *arg,
                struct err *e);

/* As node_reduce for a small slice; another thread may be in node_reduce meanwhile. */
int node_reduce_small(struct node *g, bool spins, struct slice s, shared_reduce_across_f across,
                      void *arg, struct err *e);

/* Returns what shared_reduce_broadcast and shared_reduce_gather take. Not beside node_reduce. */
struct shared_reduce *node_main(struct node *g, bool spins);

#endif
