/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the gradients of a network are cut into slices that are summed over the ranks one by one:
 * at the same places on every rank, in the order in which backward finishes them. */
#ifndef UNETCTL_TRAINER_STEP_GRADIENT_CUTS_H
#define UNETCTL_TRAINER_STEP_GRADIENT_CUTS_H

#include <stddef.h>

#include "src/err.h"
#include "trainer/core/weights.h"

struct gradient_cuts {
    size_t *ends; /* rising; the last one is nparams */
    size_t n;
};

/* A slice for each bucket of so many numbers, the last one smaller. Also of cuts that are there. */
int gradient_cuts_buckets(struct gradient_cuts *c, size_t nparams, size_t bucket, struct err *e);

/* A slice for each tensor. */
int gradient_cuts_tensors(struct gradient_cuts *c, const struct weights *w, struct err *e);

void gradient_cuts_destroy(struct gradient_cuts *c);

#endif
