/* SPDX-License-Identifier: BSD-3-Clause */
/* What batch norms and the ops around them hand each other behind the inputs and outputs of their kinds
 * (op.h): a convolution gives the norm behind it moments, who reads a norm with ReLU makes that from
 * coefficients, who writes its gradient gives it sums, and that gradient is made by the convolution's
 * gradients that read it, from coefficients, too. Where the backend has kernels for it. */
#ifndef UNETCTL_TRAINER_CORE_FUSE_NORM_H
#define UNETCTL_TRAINER_CORE_FUSE_NORM_H

#include "trainer/core/graph.h"

/* Part of fuse_graph, after all ops are what they will be. */
int fuse_norm_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
