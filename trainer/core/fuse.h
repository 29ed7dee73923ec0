/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion: neighbouring ops become one that reads and writes memory once.
 *
 *     batch_norm, relu              ->  batch_norm with attr.relu
 *     relu_grad, batch_norm_grad    ->  batch_norm_grad with attr.relu
 *     conv2d, batch_norm_infer      ->  fold_norm (of the weights), conv2d; where it can't, then
 *     batch_norm_infer, relu        ->  batch_norm_infer with attr.relu
 *     max_pool2d_grad, add          ->  max_pool2d_grad with OP_ADDED
 *     concat, conv2d                ->  concat_conv2d, and so its two gradients
 *     conv2d_grad_weights, _input   ->  conv2d_grad, and so those of concat_conv2d, conv_transpose2d
 *     relu, max_pool2d              ->  max_pool2d with attr.relu, and so their gradients
 *     conv2d, relu                  ->  conv2d with attr.relu, and so concat_conv2d (fuse_relu.h)
 *     that, max_pool2d, or conv2d of 1x1, behind it  ->  it with OP_OUT_POOLED, or OP_HEAD_W
 *     conv2d, relu, or conv_transpose2d, in front    ->  it with OP_FRONT_W
 *     batch_norm, add, relu         ->  batch_norm with attr.coef, add with OP_COEF (fuse_residual.h)
 *
 * They are fused where nothing else reads what is between; where a convolution, an addition or what is behind a
 * ReLU is among them, only if the backend has kernels of its own for what becomes of them, but for fold_norm and
 * that addition, which are as fast as memory with the reference's. Where it has some that know what op.h lists
 * there, a convolution in front of a batch norm gives it moments, so that it reads its input once; a norm with ReLU
 * and its gradient are never written, but made on the way into who reads them, and the latter's sums on the way out
 * of who writes the gradient in front of it (fuse_norm.h). Results stay the same but for rounding; models and
 * gradients know nothing of it. */
#ifndef UNETCTL_TRAINER_CORE_FUSE_H
#define UNETCTL_TRAINER_CORE_FUSE_H

#include "trainer/core/graph.h"

/* Before graph_compile for that backend; a training graph after graph_backward, and where tensors
 * have types of 16 bits after precision_mark. ERR_INTERNAL: out of memory; the graph is good for
 * graph_destroy then. */
int fuse_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
