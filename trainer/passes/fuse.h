/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion: neighbouring ops become one op that reads and writes memory once. The op keeps its kind;
 * what fusion adds fills its further inputs, outputs and attributes (op.h).
 *
 *     batch_norm, relu               ->  batch_norm with attr.relu; the same for their gradients
 *     conv2d, batch_norm_infer       ->  fold_norm (of the weights), conv2d (fuse_fold.h)
 *     batch_norm_infer, relu         ->  batch_norm_infer with attr.relu, if it is not folded
 *     max_pool2d_grad, add           ->  max_pool2d_grad with OP_ADDED
 *     concat, conv2d                 ->  conv2d with OP_SECOND; the same for its gradients
 *     conv2d_grad of weights, input  ->  one conv2d_grad; the same for conv_transpose2d_grad
 *     relu, max_pool2d               ->  max_pool2d with attr.relu; the same for their gradients
 *     conv2d, relu                   ->  conv2d with attr.relu (fuse_relu.h), and that with
 *         max_pool2d after it        ->  OP_OUT_POOLED
 *         conv2d, relu or conv_transpose2d before it  ->  OP_PRODUCER_W
 *     batch_norm, add, relu          ->  batch_norm with attr.coef, add with OP_COEF
 *                                        (fuse_residual.h)
 *
 * Ops are fused only if nothing else reads the tensor between them, except with OP_OUT_POOLED,
 * where that tensor is still written. For every backend with backend.fuses these are fused:
 * batch_norm and relu, and their gradients; batch_norm_infer and relu; max_pool2d_grad and add; and
 * a convolution and batch_norm_infer, if the backend or its fallback has fold_norm (with 16 bits
 * there is another condition: fuse_fold.c). For the others the backend itself must have kernels for
 * the results; only for add that of its fallback is enough, because it is limited by memory as
 * well. At last fuse_norm.h connects batch norms with the ops around them. Results differ by
 * rounding only. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_H
#define UNETCTL_TRAINER_PASSES_FUSE_H

#include "trainer/core/graph.h"

/* Fuses the ops of a graph that is not compiled yet: after graph_backward if it is for training,
 * and after precision_mark. 0, or -1 with ERR_INTERNAL if out of memory; then the graph can only
 * be destroyed. */
int fuse_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
