/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides the images of an epoch between steps and ranks. All functions are pure.
 *
 * An epoch is a permutation of `items` = images x repeat positions, equal on all ranks. It is cut
 * into steps, and each step into one share per device (part). Shares are disjoint and cover
 * positions plan.begin to plan.used for any number of ranks, as all ranks round the same fractions
 * of one order. */
#ifndef UNETCTL_TRAINER_DATA_SET_SHARD_H
#define UNETCTL_TRAINER_DATA_SET_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

enum shard_remainder {
    SHARD_KEEP, /* every item is used once; steps differ by at most one item */
    SHARD_DROP  /* every step is full; the remaining items are not used */
};

struct shard_plan {
    size_t items;  /* per epoch over all ranks: images x repeat */
    size_t steps;
    size_t used;   /* end of the items that the plan processes, counted from the epoch's first */
    int parts;     /* shares of a step: ranks x devices per rank */
    size_t begin;  /* first item of step 0: 0, or as set by shard_continue */
    enum shard_remainder remainder;
};

struct shard_range {
    size_t begin, end; /* positions in the epoch's order, end excluded */
};

/* Fills the plan of a whole epoch. full: the largest number of items of a step, over all parts.
 * ERR_DATA if there are no images, more than UINT32_MAX items, or with SHARD_DROP no full step. */
int shard_plan(size_t images, size_t repeat, int parts, size_t full, enum shard_remainder remainder,
               struct shard_plan *plan, struct err *e);

/* Changes the plan to the rest of its epoch after the first `begin` items, which were processed
 * with another number of items per step. full: as in shard_plan. The rest may have no steps. */
void shard_continue(struct shard_plan *plan, size_t begin, size_t full);

/* Returns the share of a part (0..parts-1) in a step: at most full / parts items, rounded up;
 * possibly none. */
struct shard_range shard_train(const struct shard_plan *plan, size_t step, int part);

/* Returns the images of the validation set that a part evaluates. */
struct shard_range shard_eval(size_t images, int parts, int part);

/* Sets order[position] of an epoch to image + images * copy: each image occurs as copies
 * 0..repeat-1, in a random order that is a function of the arguments alone. order has images x
 * repeat elements. */
void shard_order(uint64_t seed, size_t epoch, size_t images, size_t repeat, size_t *order);

#endif
