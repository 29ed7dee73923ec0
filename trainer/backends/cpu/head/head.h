/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a network with one logit for each pixel: a 1x1 convolution with one output channel,
 * which is bound by memory. A batch norm and its ReLU in front of it (norm_prologue.h) are applied
 * to one block of pixels at a time, and the sums for the norm's gradient are added up while the
 * block is in the cache. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_H
#define UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_H

#include "trainer/backends/cpu/head/head_rows.h"
#include "trainer/core/op.h"

#define HEAD_BLOCK 256 /* pixels of a block; in it dy x is summed as floats, blocks as doubles */
#define HEAD_MAX_CHANNELS 256

/* Returns whether the op, with activations x and logits y, is such a convolution, its number of
 * channels suits the loops of head_rows.h, and the processor has AVX2. */
bool head_supports(const struct op *op, const struct tensor *x, const struct tensor *y);

/* Returns the number of pixels of the block that begins with pixel `from` and ends at `to` or
 * before. */
static inline size_t head_block(size_t from, size_t to)
{
    return to - from < HEAD_BLOCK ? to - from : HEAD_BLOCK;
}

#endif
