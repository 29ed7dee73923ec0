/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposed convolutions on tensor cores, 2x2 with stride 2, to half as many channels: a product
 * of matrices for each of the four taps, whose results are every second pixel of every second row
 * of the larger tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TRANSPOSE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TRANSPOSE_H

#include "trainer/backends/cuda/conv/mma_tile.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* As mma_conv_resident, for 16, 32 or 64 channels in. */
unsigned mma_transpose_resident(unsigned in, unsigned out);

/* Queues a convolution whose channels have a kernel. k->field is that of the source, which has one
 * part; k->first.y has twice its height and width. There are no sums. */
void mma_transpose_run(const struct mma_args *k, unsigned nblocks, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
