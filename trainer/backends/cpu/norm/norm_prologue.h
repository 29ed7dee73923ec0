/* SPDX-License-Identifier: BSD-3-Clause */
/* A norm with its ReLU that an op makes of a source on its way in, of OP_COEF or OP_SECOND_COEF
 * (core/op.h), and the sums that this norm's gradient needs. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_PROLOGUE_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_PROLOGUE_H

#include "trainer/backends/cpu/norm/norm_work.h"

struct norm_prologue {
    struct norm_work_plan plan;
    struct norm_work work;
    struct batch_norm_map map;
};

/* The coefficients; NULL: it has no such source. Which of the two sources it is. */
static inline const struct tensor *norm_prologue_coef(const struct op *op)
{
    return op->in[OP_COEF] ? op->in[OP_COEF] : op->in[OP_SECOND_COEF];
}

static inline int norm_prologue_source(const struct op *op)
{
    return op->in[OP_SECOND_COEF] != NULL;
}

/* Does the op have no such input, or one of that type for which it can be done? Then rows of pixels
 * are whole steps of the map. */
bool norm_prologue_supports(const struct op *op, enum dtype t);

/* Floats of memory that norm_prologue_init needs, a multiple of 16; 0: it has none. */
size_t norm_prologue_size(const struct op *op);

/* Of the coefficients and the input as they are now. Lasts as long as the memory, and stays where
 * it is. */
void norm_prologue_init(struct norm_prologue *r, const struct op *op, float *memory);

/* total[2][C] += what norm_prologue_write_sums takes, of npixels of the gradient g and of x. */
void norm_prologue_add_sums(const struct norm_prologue *r, const void *g, const void *x,
                            size_t npixels, double *total);

/* The op's sums, from parts[npartials][2][C]. */
void norm_prologue_write_sums(const struct norm_prologue *r, const double *parts, size_t npartials,
                    const struct tensor *sums);

#endif
