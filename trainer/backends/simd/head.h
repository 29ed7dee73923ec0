/* SPDX-License-Identifier: BSD-3-Clause */
/* The 1x1 convolution with one result at the end of a network: what its kernels for floats
 * (conv2d_head.c) and for bf16 (half_head.c) have in common. */
#ifndef UNETCTL_TRAINER_BACKENDS_SIMD_HEAD_H
#define UNETCTL_TRAINER_BACKENDS_SIMD_HEAD_H

#include "trainer/core/op.h"

#define HEAD_LANES 8
#define HEAD_BLOCK 256 /* pixels whose sums are floats */

/* x: activations; y: the logit. */
bool head_supports(const struct op *op, const struct tensor *x, const struct tensor *y);

/* sum[c] = sum over pixels of dy[pixel] x[pixel][c], n channels, HEAD_BLOCK pixels at most */
typedef void head_gather_f(const float *dy, const void *x, size_t npixels, size_t n, float *sum);

/* Of the gradient of the weights. */
int head_prepare(struct op *op, struct err *e);
void head_grad_weights(const struct op *op, head_gather_f *gather);

#endif
