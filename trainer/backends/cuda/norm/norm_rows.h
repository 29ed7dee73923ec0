/* SPDX-License-Identifier: BSD-3-Clause */
/* The two passes of batch norm over activations (batch_norm.cu does the rest): sums per channel,
 * and a scaling per channel. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_NORM_NORM_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_NORM_NORM_ROWS_H

#include <stdbool.h>

#include "trainer/backends/cuda/runtime/gpu.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* u, v: [npixels][channels]. partials[nparts][2][channels]: sums of u and of u v over a part of the
 * pixels. With gamma, beta and saved of a norm of v, a number of u counts only where the ReLU
 * behind the norm lets v pass; NULL: everywhere. */
struct norm_sum_args {
    const void *u, *v;
    const float *gamma, *beta, *saved;
    double *partials;
    unsigned npixels, channels, nparts;
};

/* dst = a u + c, or with v: a u + b v + c, where u counts only if mask[0] v + mask[1] > 0, with
 * mask[2][channels]. relu: negative results become 0. v, b and mask may be NULL. n: numbers in
 * all. */
struct norm_apply_args {
    const void *u, *v;
    const float *a, *b, *c, *mask; /* per channel */
    void *dst;
    unsigned channels, n;
    bool relu;
};

/* Queue a pass over tensors of enum dtype `type`. */
void norm_sum(unsigned type, const struct norm_sum_args *k, cudaStream_t stream);
void norm_apply(unsigned type, const struct norm_apply_args *k, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* A norm's result is scale x + shift. Forward and backward passes compute both here, so that they
 * agree on the sign of each result. */
struct norm_line {
    float scale, shift;
};

DEVICE struct norm_line norm_line(float gamma, float beta, float mean, float deviation)
{
    struct norm_line l = {gamma * deviation, 0};

    l.shift = fmaf(-mean, l.scale, beta);
    return l;
}

#endif

#endif
