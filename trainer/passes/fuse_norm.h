/* SPDX-License-Identifier: BSD-3-Clause */
/* What batch norms and the ops around them hand each other at places behind those of their kinds
 * (op.h). A convolution gives the norm behind it moments. The readers of a norm with ReLU compute
 * it from coefficients, and the writer of its gradient gives it sums. The norm's own gradient is
 * computed by the convolution's gradients that read it, from coefficients, too. All of it only
 * where the backend has kernels for it. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_NORM_H
#define UNETCTL_TRAINER_PASSES_FUSE_NORM_H

#include "trainer/core/graph.h"

/* Part of fuse_graph, after all ops are what they will be. */
int fuse_norm_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
