/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, or maxima, in memory that several parties, such as processes, share: each party copies
 * its values there, and after a barrier every party can read all of them. Of few values, if no
 * other board is involved, each party reduces all by itself, which saves a second barrier. */
#ifndef UNETCTL_TRAINER_COMM_BOARD_H
#define UNETCTL_TRAINER_COMM_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/barrier.h"
#include "trainer/comm/reduce.h"

/* Reduces the slices in place over all boards (one for each node). Only rank 0 of a board calls
 * it. */
typedef int (*board_across_f)(void *arg, const struct slice *slices, size_t nslices,
                              struct err *e);

struct board_notice; /* the word that a party announces, to be compared by board_agree */

struct board {
    struct barrier barrier; /* its check and spins may change between sums */
    struct board_notice *notices;
    char *cells;   /* [2][size][room], in the shared memory */
    size_t room;   /* bytes of a party's values that are summed at once */
    /* The half of cells for this sum. Other parties may still be reading the other half. */
    int half;
    void **values; /* the cell of each party */
};

/* Returns the size of the memory that the parties share, which must be zeroed and aligned as
 * barrier_bytes requires. room: bytes that each party can sum at once, a multiple of 64. */
size_t board_bytes(int size, size_t room);
int board_open(struct board *b, void *memory, int rank, int size, size_t room, struct err *e);
void board_close(struct board *b); /* a zeroed board is allowed */

/* Collective: the values of every party's slice, of the same size and operation, become the result.
 * across: includes other boards; NULL if there are none. */
int board_reduce(struct board *b, struct slice s, board_across_f across, void *arg, struct err *e);

/* Collective: copies nbytes of party root to all, or of each party, in their order, to all (which
 * has size * nbytes). */
int board_broadcast(struct board *b, void *data, size_t nbytes, int root, struct err *e);
int board_gather(struct board *b, const void *one, void *all, size_t nbytes, struct err *e);

/* Collective: fails on all parties unless all bring the same word. */
int board_agree(struct board *b, uint64_t word, struct err *e);

#endif
