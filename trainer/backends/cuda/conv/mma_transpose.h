/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposed convolution, 2x2 window, stride 2, to half as many channels: a product of matrices for
 * each of the four taps, whose pixels go to their places in the larger tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TRANSPOSE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TRANSPOSE_H

#include "trainer/backends/cuda/conv/mma_tile.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* As mma_conv_resident; of 16 to 64 channels. */
unsigned mma_transpose_resident(unsigned in, unsigned out);

/* Queue one that there is: k->field is that of the source, in one part, k->first.y has twice its
 * height and width; no sums. */
void mma_transpose_run(const struct mma_args *k, unsigned nblocks, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
