/* SPDX-License-Identifier: BSD-3-Clause */
/* The slices in which the gradients are summed over the replicas, each as soon as backward has
 * completed it or later (comm.h): one for each tensor, or buckets of one size, which may be tuned
 * in the first steps. The slices are the same on every rank, in the order in which backward
 * completes them. */
#ifndef UNETCTL_TRAINER_STEP_EXCHANGE_H
#define UNETCTL_TRAINER_STEP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/comm/comm.h"
#include "trainer/core/weights.h"
#include "trainer/step/bucket_tuner.h"

#define EXCHANGE_MIB (((size_t)1 << 20) / sizeof(float)) /* elements in 1 MiB */

struct exchange_config {
    bool by_tensor; /* one slice for each tensor instead of buckets */
    size_t bucket; /* elements of a bucket; 0: tuned in the first steps, unless fixed, chosen
                    * or on a device */
    size_t chosen; /* tuned by an earlier start of the run, or 0 */
    bool fixed;    /* not tuned, so that results do not depend on measured times */
};

struct exchange_cuts {
    size_t *ends; /* increasing; the last one is nparams */
    size_t n;
};

struct exchange {
    struct exchange_cuts cuts;
    struct bucket_tuner tuner;
    bool tuning;
    bool chosen; /* the last step completed the tuning */
};

/* Sets the slices of the first step. exchange_end must be called after an error, too. */
int exchange_begin(struct exchange *x, const struct exchange_config *c, const struct weights *w,
                   struct err *e);
void exchange_end(struct exchange *x);

/* Adds the time of this rank's step and sets the slices of the next one. Collective while
 * tuning. */
int exchange_add_step(struct exchange *x, struct comm *comm, const struct weights *w,
                      double seconds, struct err *e);

/* Set *c, which is all zeros or has cuts already, to buckets of so many elements, or to the
 * tensors. The caller frees c->ends. */
int exchange_cut_buckets(struct exchange_cuts *c, size_t nparams, size_t bucket, struct err *e);
int exchange_cut_tensors(struct exchange_cuts *c, const struct weights *w, struct err *e);

#endif
