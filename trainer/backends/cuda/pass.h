/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over tensors of bfloat16 around the convolutions: 16 bytes, eight channels of a pixel, at a
 * time; channels come in multiples of 8. Arithmetic is in float. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_PASS_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "trainer/backends/cuda/warp.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* parts[nparts][2][channels]: sums of u and of u v over a part of the pixels. mask: [2][channels], u
 * counts where mask0 v + mask1 > 0; NULL: everywhere. */
struct pass_sum_args {
    const uint16_t *u, *v;
    const float *mask;
    double *parts;
    unsigned npixels, channels, nparts;
};
void pass_sum(const struct pass_sum_args *k, cudaStream_t stream);

/* dst = a u + c, or where there is a v a u + b v + c, u as above. relu: nothing below 0. */
struct pass_apply_args {
    const uint16_t *u, *v;
    const float *a, *b, *c, *mask; /* per channel */
    uint16_t *dst;
    unsigned channels, n; /* n: chunks of eight numbers */
    bool relu;
};
void pass_apply(const struct pass_apply_args *k, cudaStream_t stream);

/* Logits of each pixel: z = w y + bias, where y is x, or with coef[2][channels] what a norm and its
 * ReLU make of it, max(0, coef0 x + coef1). */
struct pass_head_args {
    const uint16_t *x;
    const float *coef, *w, *bias; /* w[logits][channels]; coef and bias may be NULL */
    float *z;
    unsigned npixels, channels, logits;
};
void pass_head(const struct pass_head_args *k, cudaStream_t stream);

/* Both gradients of that with coef, in one pass: dx is the gradient of y; parts has room for
 * [nparts][logits][channels + 1], sums becomes [nparts][2][channels], of dx and of dx x where y is not 0.
 * dw[logits][channels], db[logits]. */
struct pass_head_back_args {
    const float *dz, *w, *coef;
    const uint16_t *x;
    uint16_t *dx;
    double *parts, *sums;
    unsigned npixels, channels, logits, nparts;
};
void pass_head_back(const struct pass_head_back_args *k, float *dw, float *db, cudaStream_t stream);

/* Parts that these and the gradients of the weights are made of. */
unsigned pass_head_parts(size_t npixels);

struct op;
struct tensor;

/* Are these the tensors of such a convolution? */
bool pass_is_head(const struct op *op, const struct tensor *activations, const struct tensor *logits);

/* Are all activations of op bfloat16, with whole chunks of channels? */
bool pass_supports(const struct op *op);

#ifdef __CUDACC__
}
#endif

#endif
