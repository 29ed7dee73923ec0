/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over slices in memory that all ranks share. Each rank combines its share of the
 * elements over ranks 0..N-1, in this order, and writes the result to all slices, which gives the
 * same bits every time and on every rank. */
#ifndef UNETCTL_TRAINER_COMM_REDUCE_H
#define UNETCTL_TRAINER_COMM_REDUCE_H

#include <stddef.h>

#include "src/err.h"

enum reduce_op { REDUCE_SUM_FLOAT, REDUCE_SUM_DOUBLE, REDUCE_SUM_INT64, REDUCE_MAX_DOUBLE };

size_t reduce_element(enum reduce_op op); /* bytes of one element */
const char *reduce_name(enum reduce_op op); /* for error texts: "a sum of floats" */

/* What a rank brings to a collective: n elements, reduced in place. */
struct slice {
    void *values;
    size_t n;
    enum reduce_op op;
};

/* Reduces elements [from, to) of the slices values[0..size) into dst (to - from elements), or if
 * that is NULL in place, into all of them. */
void reduce_into(enum reduce_op op, void *dst, void *const *values, int size, size_t from,
                 size_t to);

/* Sets [*from, *to) to this rank's share of n elements. */
void reduce_share(size_t n, int rank, int size, size_t *from, size_t *to);

#endif
