/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over the graph of a network, between the model that builds it and its compilation.
 *
 * network/ calls them in this order: precision_mark, fuse_drop_bias_grads, precision_narrow,
 * fuse_graph, precision_lower. They change ops and tensors of a graph that is not compiled yet, and
 * own nothing. What a network computes stays the same except for rounding. A pass asks the backend
 * whether it has a kernel before it makes an op of another kind or type.
 *
 * passes.c has first the types of 16 bits, then fusion. */
#pragma once

#include "trainer/core/graph.h"

/* Mixed precision (Micikevicius et al., Mixed Precision Training, ICLR 2018): activations and their
 * gradients have 16 bits; weights and their gradients, statistics of batch norm, images, targets,
 * logits with their gradients, and losses remain floats. Where a backend has no kernel for an op of
 * both types, that for 16 bits runs behind casts of the floats, which are images, logits and their
 * gradients; where there is none either, that for floats runs between casts. */

/* The names are "f32", "bf16" and "fp16". precision_parse also accepts "tf32": floats, which the
 * convolutions of a device may multiply with 10 bits of mantissa. -1 with ERR_USAGE for another
 * name. */
const char *precision_name(enum dtype t);
int precision_parse(const char *name, enum dtype *t, bool *tf32, struct err *e);

/* Sets the type of the activations and their gradients to t. DTYPE_F32 changes nothing. */
void precision_mark(struct graph *g, enum dtype t);

/* precision_narrow, called after precision_mark and before fuse_graph, inserts casts of images,
 * logits and their gradients to 16 bits, and back, around the ops that read or write them together
 * with tensors of 16 bits, where the backend has kernels for that. precision_lower, called after
 * fuse_graph and before graph_compile, inserts casts to floats around the ops for whose types the
 * backend still has no kernel. 0, or -1 if out of memory. */
int precision_narrow(struct graph *g, const struct backend *backend, struct err *e);
int precision_lower(struct graph *g, const struct backend *backend, struct err *e);

/* Fusion: two neighbouring ops become one, of a kind of its own (core/ops.def), that reads and
 * writes memory once:
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

/* Leaves the gradients of biases in front of norms at 0, as they are allocated: the gradient of a
 * norm's input sums to 0 over the pixels of a channel, of all replicas if they share statistics.
 * Called before fuse_graph. */
void fuse_drop_bias_grads(struct graph *g);

/* Fuses the ops of a graph that is not compiled yet: after graph_backward if it is for training,
 * and after precision_mark. 0, or -1 with ERR_INTERNAL if out of memory; then the graph can only
 * be destroyed. */
int fuse_graph(struct graph *g, const struct backend *backend, struct err *e);
