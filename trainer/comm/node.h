/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over the ranks of one node, which are processes, in memory that all of them have mapped:
 * each rank sums its share between two meetings. Values in that memory (node_offer_place) are
 * summed in place, others are copied there and back.
 *
 * The first rank makes the memory by memfd_create, and the others open it through /proc: however
 * the ranks end, the kernel frees it. */
#ifndef UNETCTL_TRAINER_COMM_NODE_H
#define UNETCTL_TRAINER_COMM_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/comm/board.h"

struct node;

/* What the first rank sends to the others, by other means. */
struct node_offer {
    char path[64];
    unsigned char key[16]; /* of this memory, as another process may have got the number */
    size_t nbytes;
};

/* First rank 0 offers, then the others join with its offer. NULL on error; then no rank may use the
 * node. rank and size are within the node. */
struct node *node_offer(int size, struct node_offer *dst, struct err *e);
struct node *node_join(int rank, int size, const struct node_offer *offer, struct err *e);
void node_destroy(struct node *g); /* NULL is fine */

/* check: of node_reduce, small: of node_reduce_small. */
void node_set_check(struct node *g, meeting_check_f check, meeting_check_f small, void *arg);

/* Memory for n floats of each rank; in two steps as above. *own: this rank's, zeroed, as long as
 * the node. Once. */
int node_offer_place(struct node *g, size_t n, struct node_offer *dst, float **own, struct err *e);
int node_join_place(struct node *g, size_t n, const struct node_offer *offer, float **own,
                    struct err *e);
bool node_has_place(const struct node *g, const void *values);

/* Collective: every rank brings the same slices, either all or none of them in its place. across
 * NULL: there are no other nodes. spins: as in meeting.h. */
int node_reduce(struct node *g, bool spins, const struct slice *slices, size_t nslices,
                board_across_f across, void *arg, struct err *e);

/* The same for a small slice; another thread may be in node_reduce meanwhile. */
int node_reduce_small(struct node *g, bool spins, struct slice s, board_across_f across, void *arg,
                      struct err *e);

/* Returns the number in the node of a rank whose process has ended, or which has not arrived at the
 * meeting that this rank waits in (of node_reduce, of node_reduce_small), or -1. */
int node_find_lost(const struct node *g);
int node_find_absent(const struct node *g);
int node_find_absent_small(const struct node *g);

#endif
