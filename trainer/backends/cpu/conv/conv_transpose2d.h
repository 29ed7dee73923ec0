/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a transposed convolution for who needs them on the way (winograd_producer.c): of an op
 * that simd_conv_transpose2d has prepared, without a norm in front. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_TRANSPOSE2D_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_TRANSPOSE2D_H

#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/core/op.h"

/* Once before any row of a run. */
void conv_transpose2d_begin(const struct op *op);

/* Row y of results, counted through all images. By any thread. */
void conv_transpose2d_row(const struct op *op, size_t y, float *to);

#endif
