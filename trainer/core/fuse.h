/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion: neighbouring ops become one that reads and writes memory once.
 *
 *     batch_norm, relu              ->  batch_norm_relu
 *     relu_grad, batch_norm_grad    ->  batch_norm_relu_grad
 *     batch_norm_infer, relu        ->  batch_norm_relu_infer
 *     max_pool2d_grad, add          ->  max_pool2d_grad_add
 *
 * A pair is fused where nothing else reads what the first writes. Results stay the same but for
 * rounding; models and gradients know nothing of it. */
#ifndef UNETCTL_TRAINER_CORE_FUSE_H
#define UNETCTL_TRAINER_CORE_FUSE_H

#include "trainer/core/graph.h"

/* Before graph_compile; a training graph after graph_backward. */
void fuse_graph(struct graph *g);

#endif
