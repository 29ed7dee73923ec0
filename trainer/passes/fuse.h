/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion: neighbouring ops become one op that reads and writes memory once. The op keeps its kind,
 * except relu_max_pool2d; what fusion adds fills further inputs, outputs and attributes (op.h).
 *
 *     batch_norm, relu               ->  batch_norm with attr.relu; the same for their gradients
 *     conv2d, batch_norm_infer       ->  fold_norm (of the weights), conv2d (fuse_fold.h)
 *     batch_norm_infer, relu         ->  batch_norm_infer with attr.relu, if it is not folded
 *     max_pool2d_grad, add           ->  max_pool2d_grad with OP_ADDED
 *     concat, conv2d                 ->  conv2d with OP_SECOND; the same for its gradients
 *     conv2d_grad of weights, input  ->  one conv2d_grad; the same for conv_transpose2d_grad
 *     relu, max_pool2d               ->  relu_max_pool2d; the same for their gradients
 *     conv2d, relu                   ->  conv2d with attr.relu (fuse_relu.h), and that with
 *         max_pool2d after it        ->  OP_OUT_POOLED
 *         conv2d, relu or conv_transpose2d before it  ->  OP_PRODUCER_W
 *     batch_norm, add, relu          ->  batch_norm with attr.scale_shift,
 *                                        add with OP_NORM_SCALE_SHIFT
 *                                        (fuse_residual.h)
 *
 * The tensor between two ops must have no other reader, except with OP_OUT_POOLED, which still
 * writes it. What a backend with backend.fuses must have for the result:
 * - norms with a ReLU, their gradients, max_pool2d_grad with an add: nothing;
 * - a convolution with batch_norm_infer: fold_norm, which its fallback may have instead (and see
 *   fuse_fold.c for 16 bits);
 * - add with OP_NORM_SCALE_SHIFT: a kernel, which its fallback may have instead, as memory limits
 *   both;
 * - all others: kernels of its own.
 *
 * At last fuse_norm.h connects batch norms with the ops around them. Results differ by rounding
 * only. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_H
#define UNETCTL_TRAINER_PASSES_FUSE_H

#include "trainer/core/graph.h"

/* Leaves the gradients of biases in front of norms at 0, as they are allocated: the gradient of a
 * norm's input sums to 0 over the pixels of a channel, of all replicas if they share statistics. On
 * a device each would be a pass. Called before fuse_graph. */
void fuse_drop_bias_grads(struct graph *g);

/* Fuses the ops of a graph that is not compiled yet: after graph_backward if it is for training,
 * and after precision_mark. 0, or -1 with ERR_INTERNAL if out of memory; then the graph can only
 * be destroyed. */
int fuse_graph(struct graph *g, const struct backend *backend, struct err *e);

#endif
