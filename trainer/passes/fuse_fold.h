/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): a batch norm by running statistics multiplies each channel by a factor
 * and adds a constant. Both are folded into the weights and the bias of the convolution whose
 * result it reads. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_FOLD_H
#define UNETCTL_TRAINER_PASSES_FUSE_FOLD_H

#include "trainer/core/graph.h"

/* Runs before all other fusions. 0, or -1 if out of memory. */
int fuse_fold_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
