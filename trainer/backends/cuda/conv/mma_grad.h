/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of 3x3 and transposed convolutions on tensor cores, in one pass over the tensors. A
 * kernel reads the gradient d of the convolution's result (of 3x3 a deferred norm gradient, if
 * there is one, is applied in the prologue) and the convolution's input act; it writes the gradient
 * of the input, if that is wanted, and per block a partial gradient of the weights and bias, which
 * mma_reduce adds up. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_GRAD_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_GRAD_H

#include <stdbool.h>

#include "trainer/backends/cuda/conv/mma_tile.h"

#ifdef __CUDACC__
extern "C" {
#endif

struct mma_grad_args {
    /* The convolution of d to the input's gradient, with the weights packed for it (PACK_MMA).
     * If its first.y is NULL, that gradient is not computed. */
    struct mma_args input;
    struct mma_source act; /* the convolution's input; its prologue is not MMA_NORM_GRAD */
    float *partials;          /* of mma_grad_bytes() */
    bool with_bias;
};

/* As mma_conv_resident, for a convolution of `in` channels to `out`. Those of 32 to 16 and with 64
 * channels do not fit into 99 KiB. */
unsigned mma_grad_resident(unsigned in, unsigned out);

/* Returns the bytes of mma_grad_args.partials. taps: MMA_TAPS_3X3 or MMA_TAPS_2X2. */
size_t mma_grad_bytes(unsigned in, unsigned out, unsigned nblocks, bool with_bias,
                      unsigned taps);

/* Queues gradients whose channels have a kernel, then the sums over the blocks in a fixed order:
 * dw[out][in][3][3], and db[out], which may be NULL without with_bias. */
void mma_grad_run(const struct mma_grad_args *k, unsigned nblocks, float *dw, float *db,
                  cudaStream_t stream);

/* These do what mma_grad_resident and mma_grad_run do, for a transposed 2x2 convolution with stride
 * 2 of `in` channels (16, 32 or 64) to half as many. k->input.src is the gradient of the result,
 * which is twice as high and wide as the input; it has one part, with MMA_PLAIN. k->input.field
 * describes the convolution's input. dw is [in][out][2][2]. */
unsigned mma_grad_transpose_resident(unsigned in, unsigned out);
void mma_grad_transpose_run(const struct mma_grad_args *k, unsigned nblocks, float *dw, float *db,
                            cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
