/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of the head: a 1x1 convolution from n channels, a multiple of HEAD_ROWS_LANES, to
 * one. x and dx are floats or bf16; logits are floats. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_ROWS_H

#include <stddef.h>

#include "trainer/core/dtype.h"

#define HEAD_ROWS_LANES 8

struct head_rows {
    enum dtype dtype;
    /* y[pixel] = bias + sum over c of x[pixel][c] w[c] */
    void (*dot)(const void *x, size_t npixels, const float *w, size_t n, float bias, float *y);
    /* dx[pixel][c] = dy[pixel] w[c] */
    void (*spread)(const float *dy, size_t npixels, const float *w, size_t n, void *dx);
    /* sum[c] = sum over pixels of dy[pixel] x[pixel][c] */
    void (*gather)(const float *dy, const void *x, size_t npixels, size_t n, float *sum);
};

extern const struct head_rows head_rows_float, head_rows_bf16;

#endif
