/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernels of transposed convolutions share, and rows of their results for
 * conv/winograd/winograd_producer.c. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_TRANSPOSE2D_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_TRANSPOSE2D_H

#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/core/op.h"

/* The tensor of half the size and the other one, of a transposed convolution or its gradients. */
static inline const struct tensor *conv_transpose2d_x(const struct op *op)
{
    return op->kind == &conv_transpose2d_kind ? op->in[0] : op->out[0] ? op->out[0] : op->in[2];
}

static inline const struct tensor *conv_transpose2d_y(const struct op *op)
{
    return op->kind == &conv_transpose2d_kind ? op->out[0] : op->in[0];
}

/* Prepares to compute rows of an op that simd_conv_transpose2d has prepared and that has no norm in
 * front. Call this once before all rows of a run. */
void conv_transpose2d_begin(const struct op *op);

/* Computes row y of the results, counted over all images. Any thread may call it. */
void conv_transpose2d_row(const struct op *op, size_t y, float *to);

#endif
