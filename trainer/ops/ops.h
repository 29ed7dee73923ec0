/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ops mean: the shapes of their results and the ops of their gradients. How they are
 * computed is the backends' business.
 *
 * A kind of op is an OP(NAME) of core/ops.def and a struct op_kind NAME_kind in one of this room's
 * files. Models call the functions below, passes append some kinds themselves, and graph.c calls a
 * kind's infer and grad. Everything belongs to the graph; an op keeps no data of its own.
 *
 * Each function here appends an op, or two, to a graph and returns the last result, which the graph
 * owns, or NULL on error (see graph.h about NULL tensors), unless noted. Parameters are named
 * NAME.weight, NAME.bias, ... and have PyTorch's default initial values.
 *
 * To read: core/ops.def says what each op computes; elementwise.c has the table of the kinds, what
 * several of them share, and the shortest ones; then conv.c and reduction.c. */
#pragma once

#include "trainer/core/graph.h"

/* Cross entropy (binary for one class), 1 - soft Dice of each image, or the sum of both. */
enum loss { LOSS_CE, LOSS_DICE, LOSS_CE_DICE };

/* A loss with the attributes of its ops (struct op_attr). */
struct loss_terms {
    enum loss loss;
    const float *ce_weights, *dice_weights; /* class_weights of each */
    double gamma;                           /* of the cross entropy */
    double alpha, beta;                     /* of Dice */
};

/* A convolution with `channels` output channels; kernel: 1, 3, 5 or 7, stride: 1 or 2, dilation: 1
 * or more; see conv2d_kind about borders and sizes. */
struct tensor *conv2d_append(struct graph *g, const char *name, struct tensor *x, int64_t channels,
                             int kernel, int stride, int dilation, bool bias, struct err *e);

/* A transposed convolution, 2x2 or 3x3 (kernel), stride 2, with bias, which doubles height and
 * width. */
struct tensor *conv_transpose2d_append(struct graph *g, const char *name, struct tensor *x,
                                       int64_t channels, int kernel, struct err *e);

/* Batch norm with eps 1e-5 and momentum 0.1; in a graph for inference by the running statistics.
 * sync: statistics over all replicas. */
struct tensor *batch_norm_append(struct graph *g, const char *name, struct tensor *x, bool sync,
                                 struct err *e);

/* Group norm with eps 1e-5; groups divides the channels, 0: instance norm. */
struct tensor *group_norm_append(struct graph *g, const char *name, struct tensor *x,
                                 int64_t groups, struct err *e);

struct tensor *relu_append(struct graph *g, struct tensor *x, struct err *e);
struct tensor *relu_append_leaky(struct graph *g, struct tensor *x, double slope, struct err *e);

/* kernel: 2, which halves height and width rounded down, or 3, rounded up. */
struct tensor *max_pool2d_append(struct graph *g, struct tensor *x, int kernel, struct err *e);
struct tensor *avg_pool2d_append(struct graph *g, struct tensor *x, struct err *e);

/* Twice the height and width. */
struct tensor *upsample2d_append(struct graph *g, struct tensor *x, bool bilinear, struct err *e);

/* Makes all numbers of an image the channels of one pixel. */
struct tensor *reshape_append_flat(struct graph *g, struct tensor *x, struct err *e);

/* Appends nothing in a graph for inference, and returns x. */
struct tensor *dropout_append(struct graph *g, struct tensor *x, double rate, struct err *e);

/* The channels of a, then those of b. */
struct tensor *concat_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e);

struct tensor *add_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e);

/* The mean over height and width, which become 1. */
struct tensor *global_avg_pool_append(struct graph *g, struct tensor *x, struct err *e);

/* Half the height and width, rounded up, and at least as many channels: see subsample_kind. */
struct tensor *subsample_append(struct graph *g, struct tensor *x, int64_t channels,
                                struct err *e);

/* Appends the loss, the last forward ops of the graph. 0, or -1 with the error set. */
int loss_append(struct graph *g, const struct loss_terms *terms, struct tensor *logits,
                struct tensor *target, struct err *e);

/* For op_kind.grad: adds a contribution to t->grad, unless t needs none, which becomes grad itself
 * if it is the first one, else the result of an add. -1 if grad is NULL, the result of a failed
 * call, or if the add fails. */
int add_to_grad(struct graph *g, struct tensor *t, struct tensor *grad, struct err *e);

/* An op_kind.grad: appends kind->grad_kind, which computes the gradient of in[0] from that of
 * out[0] and, if it has a second input, from in[0] itself, with op's attributes and the height,
 * width and channels of in[0]. */
int ops_grad_first(struct graph *g, const struct op *op, struct err *e);

/* op_kind.infer: the shape of in[0]; half its height and width, rounded down, which must not be 0;
 * and as many images as in[0], of the size that the attributes say. */
int ops_infer_same_shape(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e);
int ops_infer_pooled(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e);
int ops_infer_sized(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                    struct err *e);
