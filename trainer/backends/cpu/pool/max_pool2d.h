/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of max pooling over 2x2 pixels. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_POOL_MAX_POOL2D_H
#define UNETCTL_TRAINER_BACKENDS_CPU_POOL_MAX_POOL2D_H

#include <stdbool.h>
#include <stddef.h>

#define MAX_POOL2D_LANES 8 /* the number of channels is a multiple of this */

/* Pools two rows of x into one row of y. The rows have `width` pixels of n channels, the second
 * begins `line` numbers after the first. Equal values and NaN give the reference's result. */
void max_pool2d_rows(const float *x, size_t line, size_t width, size_t n, float *y);

/* Writes two rows of dx from two rows of x, of `width` pixels each, and one row of dy: the first
 * largest value of each window gets dy, the others 0. Adds two rows of `added`, unless that is
 * NULL. dx may be `added`. An odd last column is not written. */
void max_pool2d_rows_grad(const float *dy, const float *x, const float *added, size_t width,
                          size_t n, float *dx);

#endif
