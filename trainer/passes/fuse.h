/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion: neighbouring ops become one that reads and writes memory once. An op keeps its kind;
 * what is added fills places of it (op.h).
 *
 *     batch_norm, relu               ->  batch_norm with attr.relu, and so their gradients
 *     conv2d, batch_norm_infer       ->  fold_norm (of the weights), conv2d; if it cannot, then
 *     batch_norm_infer, relu         ->  batch_norm_infer with attr.relu
 *     max_pool2d_grad, add           ->  max_pool2d_grad with OP_ADDED
 *     concat, conv2d                 ->  conv2d with OP_SECOND, and so its gradients
 *     conv2d_grad of weights, input  ->  one of both, and so conv_transpose2d_grad
 *     relu, max_pool2d               ->  max_pool2d with attr.relu, and so their gradients
 *     conv2d, relu                   ->  conv2d with attr.relu (fuse_relu.h)
 *     that, max_pool2d, or conv2d of 1x1, behind it  ->  it with OP_OUT_POOLED, or OP_HEAD_W
 *     conv2d, relu, or conv_transpose2d, in front    ->  it with OP_PRODUCER_W
 *     batch_norm, add, relu          ->  batch_norm with attr.coef, add with OP_COEF
 *                                        (fuse_residual.h)
 *
 * Ops are fused only if nothing else reads the tensor between them. If a convolution, an
 * addition or the reader of a ReLU is among them, the backend must have kernels of its own for
 * the results; for fold_norm and the addition those of the reference will do, as they are as
 * fast as memory. Where the backend has kernels for it, a convolution in front of a batch norm
 * gives it moments, so that the norm reads its input once; a norm with ReLU and its gradient are
 * never written, but computed by the ops that read them, and the sums that the gradient needs by
 * the op that writes the gradient in front of it (fuse_norm.h). Results stay the same but for
 * rounding; models and gradients are not affected. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_H
#define UNETCTL_TRAINER_PASSES_FUSE_H

#include "trainer/core/graph.h"

/* Call it before graph_compile for that backend; for a training graph after graph_backward, and
 * for types of 16 bits after precision_mark. ERR_INTERNAL: out of memory; then only
 * graph_destroy may be called. */
int fuse_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
