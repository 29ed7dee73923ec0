/* SPDX-License-Identifier: BSD-3-Clause */
/* The 1x1 convolution with one result at the end of a network: bound by memory, and of a shape that no
 * library has in mind. head.c is the convolution and its gradients, head_norm.c the same with a batch norm
 * and its ReLU in front. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_H
#define UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_H

#include "trainer/backends/cpu/head/head_rows.h"
#include "trainer/core/op.h"

#define HEAD_BLOCK 256 /* pixels whose sums are floats */
#define HEAD_MAX_CHANNELS 256

/* For activations x and logit y; NULL: it is no such convolution. */
const struct head_rows *head_rows_of(const struct op *op, const struct tensor *x, const struct tensor *y);

/* Pixels of the block of those up to `to` that begins with `from`. */
static inline size_t head_block(size_t from, size_t to)
{
    return to - from < HEAD_BLOCK ? to - from : HEAD_BLOCK;
}

/* sums[channels + 1] += those of dw, and dy's: of npixels, HEAD_BLOCK at most, of n channels. */
void head_add(const struct head_rows *rows, const float *dy, const void *x, size_t npixels, size_t n,
              double *sums);

/* dw and db from sums[CHUNKS][channels + 1], which it adds up. */
void head_finish(double *sums, size_t n, float *dw, float *db);

#endif
