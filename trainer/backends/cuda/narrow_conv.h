/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of few channels, forward. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_NARROW_CONV_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_NARROW_CONV_H

#include "trainer/backends/cuda/narrow.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* Blocks that one processor takes at a time; 0: there is none for so many channels. There is for 8 to
 * 64 channels in, and as many, twice or half as many out; for 8 in, as an image has them, up to 64. */
unsigned narrow_conv_resident(unsigned in, unsigned out);

/* Queue one that there is; with sums k->sums has room for nblocks. A source's form is not
 * NARROW_NORM_GRAD. */
void narrow_conv_run(const struct narrow_args *k, unsigned nblocks, cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
