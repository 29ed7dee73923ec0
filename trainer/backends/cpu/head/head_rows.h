/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of the head: a 1x1 convolution from n channels, a multiple of HEAD_ROWS_LANES, to
 * one. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_ROWS_H

#include <stddef.h>

#define HEAD_ROWS_LANES 8

/* y[pixel] = bias + sum over c of x[pixel][c] w[c] */
void head_rows_dot(const float *x, size_t npixels, const float *w, size_t n, float bias, float *y);

/* dx[pixel][c] = dy[pixel] w[c] */
void head_rows_spread(const float *dy, size_t npixels, const float *w, size_t n, float *dx);

/* sum[c] = sum over pixels of dy[pixel] x[pixel][c] */
void head_rows_gather(const float *dy, const float *x, size_t npixels, size_t n, float *sum);

#endif
