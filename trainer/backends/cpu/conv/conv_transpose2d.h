/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a transposed convolution's results for winograd_producer.c, of an op that
 * simd_conv_transpose2d has prepared and that has no norm in front. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_TRANSPOSE2D_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_TRANSPOSE2D_H

#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/core/op.h"

/* Call this once before all rows of a run. */
void conv_transpose2d_begin(const struct op *op);

/* Computes row y of the results, counted over all images. Any thread may call it. */
void conv_transpose2d_row(const struct op *op, size_t y, float *to);

#endif
