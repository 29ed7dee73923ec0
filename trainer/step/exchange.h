/* SPDX-License-Identifier: BSD-3-Clause */
/* In which slices the gradients of a step are summed over the replicas while backward runs: one for
 * each tensor, or buckets of one size, which may be chosen by the time of the first steps. */
#ifndef UNETCTL_TRAINER_STEP_EXCHANGE_H
#define UNETCTL_TRAINER_STEP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/comm/comm.h"
#include "trainer/core/weights.h"
#include "trainer/step/bucket_tuner.h"
#include "trainer/step/gradient_cuts.h"

#define EXCHANGE_MIB (((size_t)1 << 20) / sizeof(float)) /* numbers in 1 MiB */

struct exchange_config {
    bool by_tensor;
    size_t bucket; /* numbers; 0: chosen by the time of the first steps, unless fixed */
    size_t chosen; /* in an earlier start of the run; 0: not yet */
    bool fixed;    /* results must not depend on times */
};

struct exchange {
    struct gradient_cuts cuts;
    struct bucket_tuner tuner;
    bool tuning;
    bool chosen; /* by the last step */
};

int exchange_begin(struct exchange *x, const struct exchange_config *c, const struct weights *w,
                   struct err *e);
void exchange_end(struct exchange *x);

/* Collective while tuning: this rank's step took so long. */
int exchange_add_step(struct exchange *x, struct comm *comm, const struct weights *w,
                      double seconds, struct err *e);

#endif
