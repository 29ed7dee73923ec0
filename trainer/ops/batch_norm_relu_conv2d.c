/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_forward(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e)
{
    if (batch_norm_kind.infer(attr, (struct tensor *[]){in[0], in[1], in[2], in[4], in[5]},
                                   out, e) < 0)
        return -1;
    return conv2d_kind.infer(attr, (struct tensor *[OP_MAX_IN]){in[0], in[3]}, out, e);
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    if (batch_norm_grad_kind.infer(attr, (struct tensor *[]){in[1], in[1], in[2], in[3],
        in[4]},
                                        out, e) < 0)
        return -1;
    return conv2d_grad_weights_kind.infer(attr, (struct tensor *[]){in[0], in[1]}, out + 3, e);
}

static int grad_forward(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *gamma = op->in[1], *beta = op->in[2], *w = op->in[3];
    struct op_attr attr = op->attr;

    attr.height = x->shape.dim[DIM_H];
    attr.width = x->shape.dim[DIM_W];
    struct op *grad = graph_append(
        g, &batch_norm_relu_conv2d_grad_kind, &attr,
        (struct tensor *[]){op->out[0]->grad, x, gamma, op->out[1], beta, w},
        (struct tensor *[]){NULL, gamma->grad, beta->grad, w->grad, op->in[6] ? op->in[6]->grad
                            : NULL}, e);
    return grad ? graph_add_grad(g, x, grad->out[0], e) : -1;
}

const struct op_kind batch_norm_relu_conv2d_kind = {"batch_norm_relu_conv2d", 7, 2, false,
                                                    infer_forward, grad_forward};
const struct op_kind batch_norm_relu_conv2d_grad_kind = {"batch_norm_relu_conv2d_grad", 6, 5, false,
                                                         infer_grad, NULL};
