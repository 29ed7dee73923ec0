/* SPDX-License-Identifier: BSD-3-Clause */
/* What models are built from: each function appends one op to a graph and returns its result, or
 * NULL with the error set (or, given a NULL tensor, untouched: see graph.h). Parameters get the
 * names NAME.weight, NAME.bias, ... and PyTorch's default initial values. */
#ifndef UNETCTL_TRAINER_OPS_OPS_H
#define UNETCTL_TRAINER_OPS_OPS_H

#include <stdbool.h>

#include "trainer/core/graph.h"

/* Cross entropy, binary for one class; 1 - soft Dice of each image; their sum. */
enum loss { LOSS_CE, LOSS_DICE, LOSS_CE_DICE };

/* kernel 1 or 3, stride 1, "same" padding, with bias. */
struct tensor *conv2d_append(struct graph *g, const char *name, struct tensor *x,
                             int64_t channels, int kernel, struct err *e);

/* The same with stride 1 or 2, and with or without bias. */
struct tensor *conv2d_append_as(struct graph *g, const char *name, struct tensor *x,
                                int64_t channels, int kernel, int stride, bool bias,
                                struct err *e);

/* 2x2, stride 2, with bias: twice the height and width. */
struct tensor *conv_transpose2d_append(struct graph *g, const char *name, struct tensor *x,
                                       int64_t channels, struct err *e);

/* eps 1e-5, momentum 0.1. In a graph for inference: with the running statistics. */
struct tensor *batch_norm_append(struct graph *g, const char *name, struct tensor *x, bool sync,
                                 struct err *e);

struct tensor *relu_append(struct graph *g, struct tensor *x, struct err *e);
struct tensor *max_pool2d_append(struct graph *g, struct tensor *x, struct err *e);

struct tensor *avg_pool2d_append(struct graph *g, struct tensor *x, struct err *e);

/* 3x3, stride 2, with bias: twice the height and width. */
struct tensor *conv2d_append_transposed(struct graph *g, const char *name, struct tensor *x,
                                      int64_t channels, struct err *e);

/* All numbers of an image as channels of one place. */
struct tensor *reshape_append_flat(struct graph *g, struct tensor *x, struct err *e);

/* In a graph for inference x itself. */
struct tensor *dropout_append(struct graph *g, struct tensor *x, double rate, struct err *e);

/* Channels of a, then those of b. */
struct tensor *concat_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e);

struct tensor *add_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e);

/* Adds a contribution to the gradient of t: the first one is the gradient itself, each later one
 * appends an add. */
int add_to_grad(struct graph *g, struct tensor *t, struct tensor *grad, struct err *e);

/* Mean over height and width, which become 1. */
struct tensor *global_avg_pool_append(struct graph *g, struct tensor *x, struct err *e);

/* Half the size, at least as many channels: see subsample_kind. */
struct tensor *subsample_append(struct graph *g, struct tensor *x, int64_t channels,
                                struct err *e);

/* The loss; the graph's last forward ops. class_weights: as in struct op_attr. 0 or -1. */
int loss_append(struct graph *g, enum loss loss, const float *class_weights, struct tensor *logits,
                struct tensor *target, struct err *e);

#endif
