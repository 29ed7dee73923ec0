/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions with stride 1 on tensor cores, for 8 to 64 channels. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_CONV_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_CONV_H

#include "trainer/backends/cuda/conv/mma_tile.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* Returns the number of blocks that a multiprocessor of this thread's GPU takes at a time; 0: no
 * kernel exists for so many channels, or it does not fit. Kernels exist for 8, 16, 32 and 64
 * channels in and as many, twice or half as many out, if that is 8 to 64, but not for 64 to 64; and
 * for 8 in (an image) to 32 and 64. All fit into the 163 KiB of shared memory of sm_80, and so into
 * the 227 KiB of sm_90; into the 99 KiB of sm_86 and sm_89 all but 32 to 64. */
unsigned mma_conv_resident(unsigned in, unsigned out);

/* Queues a convolution whose channels have a kernel. With sums, k->sums has room for nblocks. The
 * prologue of a source is not MMA_NORM_GRAD. */
void mma_conv_run(const struct mma_args *k, unsigned nblocks, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
