/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds up the partial gradients of weights and bias that the blocks of mma_grad.cu have made. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_REDUCE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_REDUCE_H

#include "trainer/backends/cuda/runtime/gpu.h"

#ifdef __CUDACC__
extern "C" {
#endif

struct mma_reduce_args {
    const float *partials; /* [nparts][taps][out][in], then with db [nparts][out] */
    float *dw, *db;        /* db may be NULL */
    unsigned in, out, nparts, nw; /* nw: channels of the input without padding */
    unsigned taps, w_out, w_in;   /* dw[out * w_out + in * w_in + tap] */
};

/* Queues the sums; the order of adding is fixed. */
void mma_reduce(const struct mma_reduce_args *k, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
