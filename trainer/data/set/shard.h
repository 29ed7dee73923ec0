/* SPDX-License-Identifier: BSD-3-Clause */
/* Who processes which image when: shuffle -> shard -> batch, as pure functions.
 *
 * An epoch is a permutation of `items` = images x repeat positions, equal on every rank, cut into
 * steps, each step cut into the shares of the ranks. Shares are disjoint and complete for any
 * number of ranks, because they are cut from one order by rounding the same fractions. */
#ifndef UNETCTL_TRAINER_DATA_SET_SHARD_H
#define UNETCTL_TRAINER_DATA_SET_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

enum shard_remainder {
    SHARD_KEEP, /* every item is used once; steps are equally long, give or take one item */
    SHARD_DROP  /* every step is full; what is left over is not used */
};

struct shard_plan {
    size_t items;  /* per epoch, all ranks: images x repeat */
    size_t steps;  /* per epoch */
    size_t used;   /* items that an epoch really processes */
    int parts;     /* over how many a step is spread: ranks x devices per rank */
    size_t begin;  /* the first item of step 0: 0, but see shard_continue */
};

struct shard_range {
    size_t begin, end; /* positions in the epoch's order */
};

/* full: the most items of a step, over all parts. ERR_DATA without images, or when SHARD_DROP
 * leaves no full step. */
int shard_plan(size_t images, size_t repeat, int parts, size_t full, enum shard_remainder remainder,
               struct shard_plan *plan, struct err *e);

/* The plan becomes that of what is left of its epoch when the first `begin` items have been
 * processed already, by another number of parts. Maybe no step is left. */
void shard_continue(struct shard_plan *plan, size_t begin, size_t full,
                    enum shard_remainder remainder);

/* What part (0..parts-1) processes in a step; at most full / parts items, rounded up, maybe
 * none. */
struct shard_range shard_train(const struct shard_plan *plan, size_t step, int part);

/* The images [begin, end) of the validation set that a part evaluates. */
struct shard_range shard_eval(size_t images, int parts, int part);

/* The epoch's order: order[position] is an image, each image occurs `repeat` times. A function of
 * seed and epoch alone; order has images x repeat elements. */
void shard_order(uint64_t seed, size_t epoch, size_t images, size_t repeat, size_t *order);

/* The same with image + images * k for the k-th copy. */
void shard_copies(uint64_t seed, size_t epoch, size_t images, size_t repeat, size_t *order);

#endif
