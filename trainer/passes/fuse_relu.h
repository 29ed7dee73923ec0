/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): a convolution with the ReLU after it. In inference, where no other op
 * reads the tensors between, also with a max_pool2d or a 1x1 convolution after the ReLU, and with
 * the convolution or transposed convolution before it. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_RELU_H
#define UNETCTL_TRAINER_PASSES_FUSE_RELU_H

#include "trainer/core/graph.h"

/* Runs after all other fusions of convolutions or ReLUs. */
void fuse_relu_graph(struct graph *g, const struct backend *backend);

#endif
