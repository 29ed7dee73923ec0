/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion: two neighbouring ops become one, of a kind of its own (core/ops.def), that reads and
 * writes memory once. fuse.c has the table of patterns:
 *
 *     batch_norm, relu                        ->  batch_norm_relu
 *     relu_grad, batch_norm_grad              ->  batch_norm_relu_grad
 *     max_pool2d_grad, add                    ->  max_pool2d_grad_add
 *     conv2d, relu                            ->  conv2d_relu
 *     conv2d_grad_weights, conv2d_grad_input  ->  conv2d_grad
 *     conv2d, batch_norm_infer                ->  fold_norm (of the weights), conv2d
 *
 * The tensor between them has no other reader. Where convolutions become another kind, the backend
 * has a kernel of its own. Results differ by rounding only. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_H
#define UNETCTL_TRAINER_PASSES_FUSE_H

#include "trainer/core/graph.h"

/* Leaves the gradients of biases in front of norms at 0, as they are allocated: the gradient of a
 * norm's input sums to 0 over the pixels of a channel, of all replicas if they share statistics.
 * Called before fuse_graph. */
void fuse_drop_bias_grads(struct graph *g);

/* Fuses the ops of a graph that is not compiled yet: after graph_backward if it is for training,
 * and after precision_mark. 0, or -1 with ERR_INTERNAL if out of memory; then the graph can only
 * be destroyed. */
int fuse_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
