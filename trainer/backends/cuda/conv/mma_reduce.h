/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of a convolution's weights and bias from the parts that blocks have made
 * (mma_grad.cu). */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_REDUCE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_REDUCE_H

#include "trainer/backends/cuda/runtime/gpu.h"

#ifdef __CUDACC__
extern "C" {
#endif

struct mma_reduce_args {
    const float *partials; /* [nparts][taps][out][in], then with db [nparts][out] */
    float *dw, *db;        /* db is NULL where there are no parts of it */
    unsigned in, out, nparts, nw; /* nw: channels of the input that have weights */
    unsigned taps, w_out, w_in;   /* dw[out * w_out + in * w_in + tap] */
};

/* Queued; the order of adding is fixed. */
void mma_reduce(const struct mma_reduce_args *k, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
