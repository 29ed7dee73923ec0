/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, or maxima, in memory that several parties, such as processes, share: each party copies
 * its values there, and after a barrier every party can read all of them. Of few values, if no
 * other node is involved, each party reduces all by itself, which saves a second barrier. */
#ifndef UNETCTL_TRAINER_COMM_SHARED_REDUCE_H
#define UNETCTL_TRAINER_COMM_SHARED_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/barrier.h"
#include "trainer/comm/reduce.h"

/* Reduces the slices in place over all nodes. Only rank 0 of a node calls it. */
typedef int (*shared_reduce_across_f)(void *arg, const struct slice *slices, size_t nslices,
                                      struct err *e);

struct shared_reduce_notice; /* the word that a party announces, for shared_reduce_agree */

struct shared_reduce {
    struct barrier barrier; /* its check and spins may change between sums */
    struct shared_reduce_notice *notices;
    char *cells;   /* [2][size][room], in the shared memory */
    size_t room;   /* bytes of a party's values that are summed at once */
    /* The half of cells for this sum. Other parties may still be reading the other half. */
    int half;
    void **values; /* the cell of each party */
};

/* Returns the size of the memory that the parties share, which must be zeroed and aligned as
 * barrier_bytes requires. room: bytes that each party can sum at once, a multiple of 64. */
size_t shared_reduce_bytes(int size, size_t room);
int shared_reduce_open(struct shared_reduce *b, void *memory, int rank, int size, size_t room,
                       struct err *e);
void shared_reduce_close(struct shared_reduce *b); /* b may be all zeros */

/* Collective: the values of every party's slice, of the same size and operation, become the result.
 * across: includes other nodes; NULL if there are none. */
int shared_reduce_run(struct shared_reduce *b, struct slice s, shared_reduce_across_f across,
                      void *arg, struct err *e);

/* Collective: copies nbytes of party root to all, or of each party, in their order, to all (which
 * has size * nbytes). */
int shared_reduce_broadcast(struct shared_reduce *b, void *data, size_t nbytes, int root,
                            struct err *e);
int shared_reduce_gather(struct shared_reduce *b, const void *one, void *all, size_t nbytes,
                         struct err *e);

/* Collective: fails on all parties unless all bring the same word. */
int shared_reduce_agree(struct shared_reduce *b, uint64_t word, struct err *e);

#endif
