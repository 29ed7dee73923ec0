/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums in memory that several parties share: each party copies its values there, and after a
 * meeting every party can read all of them. Each party adds up a small sum by itself, which saves a
 * second meeting. */
#ifndef UNETCTL_TRAINER_COMM_BOARD_H
#define UNETCTL_TRAINER_COMM_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/meeting.h"
#include "trainer/comm/reduce.h"

/* Sums in place over the parties of other boards; only rank 0 of a board calls it. */
typedef int (*board_across_f)(void *arg, const struct slice *slices, size_t nslices,
                              struct err *e);

struct board_notice; /* what a party announces */

struct board {
    struct meeting meeting; /* its check and spins may change between sums */
    struct board_notice *notices;
    char *cells;   /* [2][size][room] */
    size_t room;   /* bytes of a party's values that are summed at once */
    int half;      /* of cells, for this sum; other parties may still read the other half */
    void **values; /* of the parties */
};

/* Bytes of the memory that the parties share: aligned as a meeting's, zeroed. room is a multiple of
 * 64. */
size_t board_bytes(int size, size_t room);
int board_open(struct board *b, void *memory, int rank, int size, size_t room, struct err *e);
void board_close(struct board *b); /* zeroed is fine */

/* Collective: every party brings a slice of the same size and kind, whose values become the sums.
 * across NULL: there are no other boards. */
int board_reduce(struct board *b, struct slice s, board_across_f across, void *arg, struct err *e);

/* Collective: fails on all parties unless all bring the same word. */
int board_meet(struct board *b, uint64_t word, struct err *e);

#endif
