/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of max pooling, for its kernels with and without a norm in front. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_POOL_MAX_POOL2D_H
#define UNETCTL_TRAINER_BACKENDS_CPU_POOL_MAX_POOL2D_H

#include "trainer/core/op.h"

/* Height and width even, channels in whole vectors? */
bool max_pool2d_supports(const struct op *op);

/* Two rows of x that begin `line` numbers apart, `width` pixels of n channels of each, become one.
 * Of equal values and NaN it takes those that the reference takes. */
void max_pool2d_rows(const float *x, size_t line, size_t width, size_t n, float *y);

/* Two rows of x, `width` pixels of n channels each; add NULL: 0. dx may be add. */
void max_pool2d_grad_rows(const float *dy, const float *x, const float *add, size_t width, size_t n,
                          float *dx);

#endif
