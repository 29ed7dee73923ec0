/* SPDX-License-Identifier: BSD-3-Clause */
/* A batch norm with its ReLU that a kernel applies while it reads a source (OP_SCALE_SHIFT or
 * OP_SECOND_SCALE_SHIFT in core/op.h), and the sums that this norm's gradient needs
 * (OP_OUT_SUMS). */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_PROLOGUE_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_PROLOGUE_H

#include "trainer/backends/cpu/norm/norm_work.h"

struct norm_prologue {
    struct norm_work_plan plan;
    struct norm_work work;
    struct batch_norm_map map;
};

/* Return the coefficients, or NULL if no source has a norm; and the number of the source that has
 * one, 0 or 1. At most one source has a norm. */
static inline const struct tensor *norm_prologue_scale_shift(const struct op *op)
{
    return op->in[OP_SCALE_SHIFT] ? op->in[OP_SCALE_SHIFT] : op->in[OP_SECOND_SCALE_SHIFT];
}

static inline int norm_prologue_source(const struct op *op)
{
    return op->in[OP_SECOND_SCALE_SHIFT] != NULL;
}

/* Returns whether no source has a norm, or one whose rows of pixels are whole steps of the
 * loops. */
bool norm_prologue_supports(const struct op *op);

/* Returns the floats of memory that norm_prologue_init() needs, a multiple of 16; 0: no norm. */
size_t norm_prologue_size(const struct op *op);

/* Reads the coefficients and the first pixel; without a norm, does nothing. r is valid as long as
 * the memory and must not move. */
void norm_prologue_init(struct norm_prologue *r, const struct op *op, float *memory);

/* Adds to total[2][C] the sums over npixels of g and of g (x - first pixel), where the ReLU was
 * positive. g is the gradient of the ReLU's result, x the norm's input. */
void norm_prologue_add_sums(const struct norm_prologue *r, const float *g, const float *x,
                            size_t npixels, double *total);

/* Writes OP_OUT_SUMS to `sums` from partials[npartials][2][C], which are added in order. */
void norm_prologue_write_sums(const struct norm_prologue *r, const double *partials,
                              size_t npartials, const struct tensor *sums);

#endif
