/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): a convolution with the ReLU after it; then also with a max_pool2d after
 * the ReLU (and the convolution with ReLU before it), or, if it has a second source, the transposed
 * convolution before it. Except with max_pool2d, no other op
 * may read the tensor between, which holds at inference only. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_RELU_H
#define UNETCTL_TRAINER_PASSES_FUSE_RELU_H

#include "trainer/core/graph.h"

/* Runs after all other fusions of convolutions or ReLUs. */
void fuse_relu_graph(struct graph *g, const struct backend *backend);

#endif
