/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): how a residual block ends when training.
 *
 *     batch_norm, add, relu   ->  batch_norm with attr.coef, add with OP_COEF and attr.relu
 *
 * Neither the norm's result nor the sum is written. Of two such results in a row, each the
 * other's shortcut, one is not kept for the gradients. It is computed again from the other where
 * the first gradient reads it: a few percent of a residual network's memory for one of its time. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_RESIDUAL_H
#define UNETCTL_TRAINER_PASSES_FUSE_RESIDUAL_H

#include "trainer/core/graph.h"

/* When convolutions and ReLUs have their fused kinds. -1: out of memory. */
int fuse_residual_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
