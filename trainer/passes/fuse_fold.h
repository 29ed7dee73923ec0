/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): a norm with running statistics is a factor and a constant for each
 * channel, which the weights and the bias of the convolution in front of it take as well as its
 * result. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_FOLD_H
#define UNETCTL_TRAINER_PASSES_FUSE_FOLD_H

#include "trainer/core/graph.h"

/* Before other ops are fused. -1: out of memory. */
int fuse_fold_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
