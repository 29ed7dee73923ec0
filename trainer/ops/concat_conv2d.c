/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

/* The tensor that nobody writes: its shape. */
static struct tensor join(const struct tensor *a, const struct tensor *b)
{
    struct tensor whole = *a;

    whole.shape.dim[DIM_C] += b->shape.dim[DIM_C];
    return whole;
}

static int infer_concat_conv2d(const struct op_attr *attr, struct tensor *const *in,
                               struct shape *out, struct err *e)
{
    struct tensor *front = in[OP_FRONT_W], first = *in[0];

    if (front &&
        conv_transpose2d_kind.infer(NULL, (struct tensor *[]){in[0], front}, &first.shape, e) < 0)
        return -1;
    if (concat_kind.infer(attr, (struct tensor *[]){&first, in[1]}, out, e) < 0)
        return -1;
    struct tensor whole = join(&first, in[1]);
    return conv2d_kind.infer(attr, (struct tensor *[OP_MAX_IN]){&whole, in[2], in[3]}, out, e);
}

static int infer_grad_input(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    struct tensor whole = *in[0];

    if (conv2d_grad_input_kind.infer(attr, in, &whole.shape, e) < 0)
        return -1;
    return concat_grad_kind.infer(attr, (struct tensor *[]){&whole}, out, e);
}

static int infer_grad_weights(const struct op_attr *attr, struct tensor *const *in,
                              struct shape *out, struct err *e)
{
    struct tensor whole = join(in[1], in[2]);

    if (concat_kind.infer(attr, in + 1, out, e) < 0)
        return -1;
    return conv2d_grad_weights_kind.infer(attr, (struct tensor *[]){in[0], &whole}, out, e);
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    out[0] = in[1]->shape;
    out[1] = in[2]->shape;
    return infer_grad_weights(attr, in, out + 2, e);
}

static int grad_concat_conv2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *a = op->in[0], *b = op->in[1], *w = op->in[2], *dy = op->out[0]->grad;
    struct op_attr attr = op->attr;
    struct op *dx;

    if (!graph_append(g, &concat_conv2d_grad_weights_kind, &attr, (struct tensor *[]){dy, a, b},
                      (struct tensor *[]){w->grad, op->in[3]->grad}, e))
        return -1;
    attr.split = a->shape.dim[DIM_C];
    attr.height = a->shape.dim[DIM_H];
    attr.width = a->shape.dim[DIM_W];
    dx = graph_append(g, &concat_conv2d_grad_input_kind, &attr, (struct tensor *[]){dy, w}, NULL,
                      e);
    if (!dx || graph_add_grad(g, a, dx->out[0], e) < 0)
        return -1;
    return graph_add_grad(g, b, dx->out[1], e);
}

const struct op_kind concat_conv2d_kind = {"concat_conv2d", 4, 1, false, infer_concat_conv2d,
                                           grad_concat_conv2d};
const struct op_kind concat_conv2d_grad_input_kind = {"concat_conv2d_grad_input", 2, 2, false,
                                                      infer_grad_input, NULL};
const struct op_kind concat_conv2d_grad_kind = {"concat_conv2d_grad", 4, 4, false, infer_grad, NULL};
const struct op_kind concat_conv2d_grad_weights_kind = {"concat_conv2d_grad_weights", 3, 2, false,
                                                        infer_grad_weights, NULL};
