/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm's two passes over tensors of any type, number by number; pass.h has those of bfloat16
 * in whole chunks. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_NORM_NORM_PASS_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_NORM_NORM_PASS_H

#include <stdbool.h>

#include "trainer/backends/cuda/runtime/gpu.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* u, v: [pixels][channels]. parts: [nparts][2 channels], sum of u and of u v. */
struct norm_pass_sum_args {
    const void *u, *v;
    const float *mask; /* [2][channels], see pass.h */
    double *parts;
    unsigned npixels, channels, nparts;
};
void norm_pass_sum(unsigned type, const struct norm_pass_sum_args *k, cudaStream_t stream);

/* dst = a u + c, or where there is a v a u + b v + c; u counts only where the ReLU let v pass. */
struct norm_pass_apply_args {
    const void *u, *v; /* v, b and mask may be NULL */
    const float *a, *b, *c, *mask;
    void *dst;
    unsigned channels, n;
    bool relu;
};
void norm_pass_apply(unsigned type, const struct norm_pass_apply_args *k, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
