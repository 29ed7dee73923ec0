/* SPDX-License-Identifier: BSD-3-Clause */
/* A norm with its ReLU that an op makes of a source on its way in, of OP_COEF or OP_SECOND_COEF
 * (core/op.h), and the sums that this norm's gradient needs. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_RAW_NORM_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_RAW_NORM_H

#include "trainer/backends/cpu/norm/norm_work.h"

struct raw_norm {
    struct norm_work_plan plan;
    struct norm_work work;
    struct batch_norm_map map;
};

/* The coefficients; NULL: it has no such source. Which of the two sources it is. */
static inline const struct tensor *raw_norm_of(const struct op *op)
{
    return op->in[OP_COEF] ? op->in[OP_COEF] : op->in[OP_SECOND_COEF];
}

static inline int raw_norm_part(const struct op *op)
{
    return op->in[OP_SECOND_COEF] != NULL;
}

/* Does the op have no such input, or one of that type for which it can be done? Then rows of pixels
 * are whole steps of the map. */
bool raw_norm_support(const struct op *op, enum dtype t);

/* Floats of memory that raw_norm_init needs, a multiple of 16; 0: it has none. */
size_t raw_norm_size(const struct op *op);

/* Of the coefficients and the input as they are now. Lasts as long as the memory, and stays where
 * it is. */
void raw_norm_init(struct raw_norm *r, const struct op *op, float *memory);

/* total[2][C] += what raw_norm_write takes, of npixels of the gradient g and of x. */
void raw_norm_add(const struct raw_norm *r, const void *g, const void *x, size_t npixels,
                  double *total);

/* The op's sums, from parts[nparts][2][C]. */
void raw_norm_write(const struct raw_norm *r, const double *parts, size_t nparts,
                    const struct tensor *sums);

#endif
