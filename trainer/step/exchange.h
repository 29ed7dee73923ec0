/* SPDX-License-Identifier: BSD-3-Clause */
/* The slices in which the gradients of a step are summed over the replicas while backward runs: one
 * for each tensor, or buckets of one size, which may be tuned in the first steps. Slices are cut at
 * the same places on every rank, in the order in which backward completes them. */
#ifndef UNETCTL_TRAINER_STEP_EXCHANGE_H
#define UNETCTL_TRAINER_STEP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/comm/comm.h"
#include "trainer/core/weights.h"
#include "trainer/step/bucket_tuner.h"

#define EXCHANGE_MIB (((size_t)1 << 20) / sizeof(float)) /* numbers in 1 MiB */

struct exchange_config {
    bool by_tensor;
    size_t bucket; /* numbers; 0: tuned in the first steps, unless fixed */
    size_t chosen; /* by an earlier start of the run, or 0 */
    bool fixed;    /* results must not depend on times */
};

struct exchange_cuts {
    size_t *ends; /* increasing; the last one is nparams */
    size_t n;
};

struct exchange {
    struct exchange_cuts cuts;
    struct bucket_tuner tuner;
    bool tuning;
    bool chosen; /* by the last step */
};

int exchange_begin(struct exchange *x, const struct exchange_config *c, const struct weights *w,
                   struct err *e);
void exchange_end(struct exchange *x);

/* Collective while tuning. seconds: the time of this rank's step. */
int exchange_add_step(struct exchange *x, struct comm *comm, const struct weights *w,
                      double seconds, struct err *e);

/* Cuts at every bucket of so many numbers, or at every tensor. Replace existing cuts; ends is to be
 * freed. */
int exchange_cut_buckets(struct exchange_cuts *c, size_t nparams, size_t bucket, struct err *e);
int exchange_cut_tensors(struct exchange_cuts *c, const struct weights *w, struct err *e);

#endif
