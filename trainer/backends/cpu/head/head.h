/* SPDX-License-Identifier: BSD-3-Clause */
/* The 1x1 convolution with one result at the end of a network: bound by memory, and of a shape that
 * no library has in mind. A batch norm and its ReLU in front of it (norm_prologue.h) are applied a
 * block of pixels at a time, and the sums that the norm's gradient needs are added up while that is
 * in the cache. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_H
#define UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_H

#include "trainer/backends/cpu/head/head_rows.h"
#include "trainer/core/op.h"

#define HEAD_BLOCK 256 /* pixels whose sums are floats */
#define HEAD_MAX_CHANNELS 256

/* For activations x and logit y; NULL: it is no such convolution. */
const struct head_rows *head_rows_of(const struct op *op, const struct tensor *x,
                                     const struct tensor *y);

/* Pixels of the block of those up to `to` that begins with `from`. */
static inline size_t head_block(size_t from, size_t to)
{
    return to - from < HEAD_BLOCK ? to - from : HEAD_BLOCK;
}

#endif
