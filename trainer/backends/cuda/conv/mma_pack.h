/* SPDX-License-Identifier: BSD-3-Clause */
/* Brings the weights of a convolution into the order and type in which the kernels on tensor cores
 * load them. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_PACK_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_PACK_H

#include "trainer/backends/cuda/conv/mma_tile.h"

#ifdef __CUDACC__
extern "C" {
#endif

struct mma_pack_args {
    const float *w; /* w[out * w_out + in * w_in + tap] */
    unsigned *packed; /* MMA_WEIGHT_BYTES(in, out, taps) */
    unsigned in, out, taps; /* multiples of 8; MMA_TAPS_3X3 or MMA_TAPS_2X2 */
    unsigned w_out, w_in, flip; /* flip: the last tap comes first */
    unsigned nw; /* channels of the input without the padding of an image */
};

/* Queues the packing. */
void mma_pack(const struct mma_pack_args *k, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
