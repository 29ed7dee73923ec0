/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of few channels, forward. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_CONV_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_CONV_H

#include "trainer/backends/cuda/conv/mma_tile.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* Blocks that one processor takes at a time; 0: there is none for so many channels, or it does not
 * fit into this thread's GPU: all do with the 163 KiB of shared memory of sm_80 and sm_90, with the
 * 99 of sm_86 and sm_89 those up to 32 channels, but for both gradients of 32 to 16, and some with
 * 64. There is for 8 to 64 channels in, and as many, twice or half as many out; for 8 in, as an
 * image has them, up to 64. */
unsigned mma_conv_resident(unsigned in, unsigned out);

/* Queue one that there is; with sums k->sums has room for nblocks. A source's form is not
 * MMA_NORM_GRAD. */
void mma_conv_run(const struct mma_args *k, unsigned nblocks, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
