/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): convolutions and the ReLU behind them, and, where nothing else needs
 * what is between, as at inference, what is behind that or makes their input. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_RELU_H
#define UNETCTL_TRAINER_PASSES_FUSE_RELU_H

#include "trainer/core/graph.h"

/* After all others that could take the convolution or the ReLU. */
void fuse_relu_graph(struct graph *g, const struct backend *backend);

#endif
