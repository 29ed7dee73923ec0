/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_max_pool2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    const struct shape *x = &in[0]->shape;

    (void)attr;
    if (x->dim[DIM_H] < 2 || x->dim[DIM_W] < 2)
        return err_set(e, ERR_INTERNAL, "max_pool2d: height and width must be 2 at least");
    out[0] = shape_nhwc(x->dim[DIM_N], x->dim[DIM_H] / 2, x->dim[DIM_W] / 2, x->dim[DIM_C]);
    return 0;
}

static int infer_max_pool2d_grad(const struct op_attr *attr, struct tensor *const *in,
                                 struct shape *out, struct err *e)
{
    struct shape pooled;

    if (infer_max_pool2d(attr, &in[1], &pooled, e) < 0)
        return -1;
    if (!shape_equal(&in[0]->shape, &pooled))
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradient does not fit the input");
    out[0] = in[1]->shape;
    return 0;
}

static int grad_max_pool2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0];
    struct op *grad = graph_append(g, &max_pool2d_grad_kind, NULL,
                                   (struct tensor *[]){op->out[0]->grad, x}, NULL, e);

    return grad ? graph_add_grad(g, x, grad->out[0], e) : -1;
}

const struct op_kind max_pool2d_kind = {"max_pool2d", 1, 1, false, infer_max_pool2d,
                                        grad_max_pool2d};
const struct op_kind max_pool2d_grad_kind = {"max_pool2d_grad", 2, 1, false, infer_max_pool2d_grad,
                                             NULL};

static int infer_max_pool2d_grad_add(const struct op_attr *attr, struct tensor *const *in,
                                     struct shape *out, struct err *e)
{
    if (infer_max_pool2d_grad(attr, in + 1, out, e) < 0)
        return -1;
    if (!shape_equal(&in[0]->shape, out))
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradients do not fit each other");
    return 0;
}

const struct op_kind max_pool2d_grad_add_kind = {"max_pool2d_grad_add", 3, 1, true,
                                                 infer_max_pool2d_grad_add, NULL};

struct tensor *max_pool2d_append(struct graph *g, struct tensor *x, struct err *e)
{
    struct op *op = graph_append(g, &max_pool2d_kind, NULL, &x, NULL, e);

    return op ? op->out[0] : NULL;
}
