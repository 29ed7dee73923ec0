/* SPDX-License-Identifier: BSD-3-Clause */
/* What batch norm (batch_norm.c) and its gradient (batch_norm_grad.c) share: sums over all pixels,
 * in chunks that do not depend on the number of threads, and passes over whole tensors.
 *
 * All of it is bound by memory, so the number of passes counts. The forward op reads x for the
 * statistics, and reads x and writes y for the result; the gradient reads dy and x for the sums and
 * once more for dx. With a ReLU its sign is computed again from x, so that y is not read. Short
 * blocks are summed in floats, as differences to a nearby value, the first pixel's or the mean, so
 * that no digits are lost; the blocks' sums are doubles. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_WORK_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_WORK_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/kernel.h"

/* Coefficients of channels, repeated to whole vectors: a, b, c and shift of norm_rows.h; a is also
 * scale. */
enum { NORM_WORK_A, NORM_WORK_B, NORM_WORK_C, NORM_WORK_SHIFT, NORM_WORK_VALUES };

/* op->priv: depends on the instruction set when the op was prepared. */
struct norm_work_plan {
    const struct norm_rows *rows;
    size_t npixels, nchannels;
    size_t step;     /* see norm_rows_step() */
    size_t wide;     /* values of the vectors that a loop processes; divides step */
    bool relu;       /* behind the norm */
};

/* The workspace: 2C sums and the number of pixels, over all replicas once norm_work_replicas() has
 * run, as doubles; [CHUNKS][2C] doubles of sums of each chunk; the coefficients. */
struct norm_work {
    const struct norm_work_plan *plan;
    double *sums, *chunks;
    float *k[NORM_WORK_VALUES];
};

bool norm_work_supports(const struct op *op);
int norm_work_prepare(struct op *op, struct err *e);

struct norm_work norm_work_of(const struct op *op);

/* Repeats the coefficients to whole vectors. */
void norm_work_repeat(const struct norm_work *w);

/* Computes w->sums over the whole tensors: of x - shift and its square, or with dy those of
 * grad_sums (norm_rows.h). */
void norm_work_sum(const struct norm_work *w, const float *dy, const float *x);

/* Completes w->sums[2C + 1] with the number of pixels, or sets all to 0 if this replica has no
 * image. With attr.sync, adds up those of all replicas. Returns -1 if that fails. */
int norm_work_replicas(const struct op *op, const struct norm_work *w, struct exec *x,
                       struct err *e);

/* Writes dst = a x + c, with a ReLU at least 0, or with dy the gradient. */
void norm_work_apply(const struct norm_work *w, const float *dy, const float *x, float *dst);

#endif
