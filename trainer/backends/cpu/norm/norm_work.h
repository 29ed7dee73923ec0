/* SPDX-License-Identifier: BSD-3-Clause */
/* What batch norm (batch_norm.c) and its gradient (batch_norm_grad.c) have in common: sums over all
 * pixels in chunks that do not depend on the threads, and passes over whole tensors.
 *
 * All of it is bound by memory, so passes count: statistics read x once, the result reads x and
 * writes y; the gradient reads dy and x for the sums and again for dx. Where the ReLU is part of it
 * whether it let a value through is computed again from x, so that y is not read. Sums of short
 * blocks are floats, of differences to a value nearby (the first pixel's, or the mean), so that
 * nothing is lost; the blocks' sums are doubles. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_WORK_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_WORK_H

#include "trainer/backends/cpu/norm/batch_norm.h"

/* Values per channel, repeated up to whole vectors. */
enum { NORM_WORK_A, NORM_WORK_B, NORM_WORK_C, NORM_WORK_SHIFT, NORM_WORK_VALUES };

/* op->priv: what is wide depends on the instruction set that was there when it was prepared. */
struct norm_work_plan {
    const struct norm_rows *rows;
    size_t npixels, nchannels;
    size_t size;     /* bytes of a number of x, y, dy and dx */
    size_t step;     /* norm_rows_step */
    size_t wide;     /* numbers of the vectors that are taken side by side; divides step */
};

/* Workspace: sums of all replicas, [2C + 1] doubles; sums of each chunk, [CHUNKS][2C] doubles; the
 * values per channel. */
struct norm_work {
    const struct norm_work_plan *plan;
    double *sums, *chunks;
    float *k[NORM_WORK_VALUES];
};

bool norm_work_supports(const struct op *op);
int norm_work_prepare(struct op *op, struct err *e);

struct norm_work norm_work_of(const struct op *op);

struct batch_norm_map norm_work_map(const struct norm_work *w);

/* The values per channel up to whole vectors. */
void norm_work_repeat(const struct norm_work *w);

/* total[2][C] += the sums over npixels: of x - shift and its square, with dy those of grad_sums
 * (norm_rows.h). */
void norm_work_add(const struct norm_work *w, const void *dy, const void *x, size_t npixels,
                   bool relu, double *total);

/* Of the whole tensors, into w->sums. */
void norm_work_sum(const struct op *op, const struct norm_work *w, const void *dy, const void *x);

/* w->sums[2C + 1]: two sums per channel and the number of pixels, of this replica, then of all. */
int norm_work_replicas(const struct op *op, const struct norm_work *w, struct exec *x,
                       struct err *e);

/* out[0] = a x + c, or with dy the gradient. */
void norm_work_apply(const struct op *op, const struct norm_work *w, const void *dy, const void *x);

#endif
