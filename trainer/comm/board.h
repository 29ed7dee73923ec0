/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums by way of memory that several parties share: each brings its values, and after a meeting all
 * of them find all values there. Few values every party adds up alone, which saves a second
 * meeting. */
#ifndef UNETCTL_TRAINER_COMM_BOARD_H
#define UNETCTL_TRAINER_COMM_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/meeting.h"
#include "trainer/comm/slice.h"

/* Over the parties elsewhere, in place; called by rank 0 of the board only. */
typedef int (*board_across_f)(void *arg, const struct slice *slices, size_t nslices,
                              struct err *e);

struct board_notice; /* what a party brings */

struct board {
    struct meeting meeting; /* its check and spins may change between sums */
    struct board_notice *notices;
    char *cells;   /* [2][size][room] */
    size_t room;   /* bytes of a party's values that go at once */
    int half;      /* of this sum; others may still be reading the last one's */
    void **values; /* of the parties */
};

/* The memory that the parties share: aligned as a meeting's, zeros at first. room is a multiple of
 * 64. */
size_t board_bytes(int size, size_t room);
int board_open(struct board *b, void *memory, int rank, int size, size_t room, struct err *e);
void board_close(struct board *b); /* zeroed is fine */

/* Collective: every party brings n values of the same kind, which become the sums. across NULL:
 * there is nobody elsewhere. */
int board_reduce(struct board *b, struct slice s, board_across_f across, void *arg, struct err *e);

/* A meeting of parties that must come with the same word; all of them see when one does not. */
int board_meet(struct board *b, uint64_t word, struct err *e);

#endif
