/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of slices that several ranks have in memory that all of them can reach: each rank combines
 * its share of the elements over ranks 0..N-1, always in this order, and writes the result to all
 * of them, so that it has the same bits every time and everywhere. */
#ifndef UNETCTL_TRAINER_COMM_REDUCE_H
#define UNETCTL_TRAINER_COMM_REDUCE_H

#include <stddef.h>

enum reduce_op { REDUCE_SUM_FLOAT, REDUCE_SUM_DOUBLE, REDUCE_SUM_INT64, REDUCE_MAX_DOUBLE };

size_t reduce_element(enum reduce_op op); /* bytes of one element */
const char *reduce_name(enum reduce_op op); /* for people: "a sum of floats" */

/* Elements [from, to) of the slices values[0..size). */
void reduce_slice(enum reduce_op op, void *const *values, int size, size_t from, size_t to);

/* The same into dst (to - from elements) and nowhere else. */
void reduce_into(enum reduce_op op, void *dst, void *const *values, int size, size_t from,
                 size_t to);

/* Rank's share of n elements. */
void reduce_share(size_t n, int rank, int size, size_t *from, size_t *to);

#endif
