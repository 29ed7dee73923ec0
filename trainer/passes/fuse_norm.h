/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): batch norms in training exchange values with the ops around them, where
 * the backend has kernels for it (OP_MOMENTS and others, op.h):
 * - A convolution also computes the moments of its result for the norm after it.
 * - The result of a norm with ReLU is not written; its readers compute it from OP_SCALE_SHIFT.
 * - The op that writes the gradient of that result also computes the sums that the norm's gradient
 *   needs, if it reads the norm's input anyway.
 * - The gradient of the norm's input is not written; the gradients of the convolution before the
 *   norm compute it from OP_NORM_GRAD_COEF. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_NORM_H
#define UNETCTL_TRAINER_PASSES_FUSE_NORM_H

#include "trainer/core/graph.h"

/* Runs after all other fusions. 0, or -1 if out of memory. */
int fuse_norm_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
