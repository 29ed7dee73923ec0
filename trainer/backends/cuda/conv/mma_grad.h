/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a convolution of few channels in one pass over its tensors: reads the gradient
 * d of its result (with the norm's gradient on the way in) and its input, writes the gradient of
 * the input and what the blocks have added up for that of the weights. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_GRAD_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_GRAD_H

#include <stdbool.h>

#include "trainer/backends/cuda/conv/mma_tile.h"

#ifdef __CUDACC__
extern "C" {
#endif

struct mma_grad_args {
    /* As a convolution of d to the input's gradient: flipped, w_out and w_in exchanged; first.y is
     * NULL: not computed. */
    struct mma_args input;
    struct mma_source act; /* the convolution's input; never MMA_NORM_GRAD */
    float *partials;          /* of mma_grad_bytes() */
    bool with_bias;
};

/* As mma_conv_resident, of a convolution of `in` channels to `out`. with_input: of 64 to 64
 * there is one for the weights only. */
unsigned mma_grad_resident(unsigned in, unsigned out, bool with_input);

/* Bytes of mma_grad_args.partials; taps: MMA_TAPS_3X3 or MMA_TAPS_2X2. */
size_t mma_grad_bytes(unsigned in, unsigned out, unsigned nblocks, bool with_bias,
                      unsigned taps);

/* Queue one that there is, then the sums of the blocks' parts, in a fixed order. dw[out][in][3][3];
 * db[out], NULL if not with_bias. */
void mma_grad_run(const struct mma_grad_args *k, unsigned nblocks, float *dw, float *db,
                  cudaStream_t stream);

/* The same of a transposed convolution 2x2, stride 2, of `in` channels to half as many, 16 to 64: d
 * is the larger side, MMA_PLAIN and in one part; the field is that of the input.
 * dw[in][out][2][2], NULL: the input's gradient alone, for which act has to say its channels
 * only. */
unsigned mma_grad_transpose_resident(unsigned in, unsigned out);
void mma_grad_transpose_run(const struct mma_grad_args *k, unsigned nblocks, float *dw, float *db,
                            cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
