/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): the end of a residual block in training.
 *
 *     batch_norm, add, relu   ->  batch_norm with attr.scale_shift,
 *                                 add with OP_NORM_SCALE_SHIFT and attr.relu
 *
 * Neither the norm's result nor the sum is written. If the gradients read both inputs of the fused
 * add anyway, its result is not kept for them: the add is repeated before the first gradient that
 * reads it. This saves a few percent of a residual network's memory for 1 % of its time. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_RESIDUAL_H
#define UNETCTL_TRAINER_PASSES_FUSE_RESIDUAL_H

#include "trainer/core/graph.h"

/* Runs after the fusions of convolutions and ReLUs. 0, or -1 if out of memory. */
int fuse_residual_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
