/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of one node, which are processes: they sum in memory that all of them have mapped, each
 * its share, between two meetings. Values that lie in the node's own memory (node_place) are summed
 * where they are, others by way of it.
 *
 * The memory has no name in any file system: the first rank makes it (memfd_create) and the others
 * open it through /proc. However the ranks end, nothing of it stays. */
#ifndef UNETCTL_TRAINER_COMM_NODE_H
#define UNETCTL_TRAINER_COMM_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/comm/board.h"

struct node;

/* What the first rank tells the others, by other means. */
struct node_offer {
    char path[64];
    unsigned char key[16]; /* it is this memory, not one of a process with the same number */
    size_t nbytes;
};

/* First rank 0 offers, then the others join with its offer: NULL on error, and then none of them
 * may go on with it. rank and size are within the node. */
struct node *node_offer(int size, struct node_offer *dst, struct err *e);
struct node *node_join(int rank, int size, const struct node_offer *offer, struct err *e);
void node_destroy(struct node *g); /* NULL is fine */

/* check: of node_reduce, aside: of node_reduce_aside. */
void node_set_check(struct node *g, meeting_check_f check, meeting_check_f aside, void *arg);

/* Memory for n floats of each rank; in two steps as above. *own: this rank's, zeroed, as long as
 * the node. Once. */
int node_offer_place(struct node *g, size_t n, struct node_offer *dst, float **own, struct err *e);
int node_join_place(struct node *g, size_t n, const struct node_offer *offer, float **own,
                    struct err *e);
bool node_has_place(const struct node *g, const void *values);

/* Collective: every rank brings the same slices, all of them in its place or none of them. across
 * NULL: there is no other node. spins: as in meeting.h. */
int node_reduce(struct node *g, bool spins, const struct slice *slices, size_t nslices,
                board_across_f across, void *arg, struct err *e);

/* Beside it, by another thread: for few values. */
int node_reduce_aside(struct node *g, bool spins, struct slice s, board_across_f across, void *arg,
                      struct err *e);

/* A rank whose process has ended, or that has not come to the meeting which this rank waits in, in
 * node_reduce or beside it: its number in the node, -1: none. */
int node_find_lost(const struct node *g);
int node_find_absent(const struct node *g);
int node_find_absent_aside(const struct node *g);

#endif
