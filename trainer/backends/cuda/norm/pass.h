/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over tensors of bfloat16 around the convolutions: 16 bytes, eight channels of a pixel, at
 * a time; channels come in multiples of 8. Arithmetic is in float. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_NORM_PASS_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_NORM_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "trainer/backends/cuda/runtime/warp.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* parts[nparts][2][channels]: sums of u and of u v over a part of the pixels. mask: [2][channels],
 * u counts where mask0 v + mask1 > 0; NULL: everywhere. */
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

#ifdef __CUDACC__
}
#endif

#endif
