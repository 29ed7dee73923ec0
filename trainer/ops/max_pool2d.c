/* SPDX-License-Identifier: BSD-3-Clause */
/* The op max_pool2d and its gradient, with or without a ReLU in front. */
#include "config.h"
#include "trainer/ops/ops.h"

static struct shape places_of(const struct shape *y)
{
    int64_t n = (int64_t)shape_count(y);

    return (struct shape){1, {(n + OP_PLACES - 1) / OP_PLACES}};
}

static int infer_max_pool2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    const struct shape *x = &in[0]->shape;

    if (x->dim[DIM_H] < 2 || x->dim[DIM_W] < 2)
        return err_set(e, ERR_INTERNAL, "max_pool2d: height and width must be 2 at least");
    out[0] = shape_nhwc(x->dim[DIM_N], x->dim[DIM_H] / 2, x->dim[DIM_W] / 2, x->dim[DIM_C]);
    out[1] = attr->relu ? places_of(&out[0]) : (struct shape){0};
    return 0;
}

static int infer_relu_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    const struct shape *y = &in[1]->shape, places = places_of(y);

    if (!shape_equal(&in[0]->shape, y) || !shape_equal(&in[2]->shape, &places) ||
        attr->height / 2 != y->dim[DIM_H] || attr->width / 2 != y->dim[DIM_W])
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradient does not fit the result");
    out[0] = shape_nhwc(y->dim[DIM_N], attr->height, attr->width, y->dim[DIM_C]);
    return 0;
}

static int infer_max_pool2d_grad(const struct op_attr *attr, struct tensor *const *in,
                                 struct shape *out, struct err *e)
{
    struct shape pooled[2];

    if (attr->relu)
        return infer_relu_grad(attr, in, out, e);
    if (infer_max_pool2d(attr, &in[1], pooled, e) < 0)
        return -1;
    if (!shape_equal(&in[0]->shape, &pooled[0]))
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradient does not fit the input");
    out[0] = in[1]->shape;
    if (in[OP_ADDED] && !shape_equal(&in[OP_ADDED]->shape, out))
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradients do not fit each other");
    return 0;
}

static int grad_max_pool2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *y = op->out[0];
    struct op like = {.kind = &max_pool2d_grad_kind, .attr = op->attr, .in = {y->grad, x}};

    if (op->attr.relu) {
        like.attr.height = x->shape.dim[DIM_H];
        like.attr.width = x->shape.dim[DIM_W];
        like.in[1] = y;
        like.in[2] = op->out[1];
    }
    struct op *grad = graph_append_op(g, &like, e);

    return grad ? add_to_grad(g, x, grad->out[0], e) : -1;
}

const struct op_kind max_pool2d_kind = {
    .name = "max_pool2d", .nin = 1, .nout = 2, .infer = infer_max_pool2d, .grad = grad_max_pool2d,
};
const struct op_kind max_pool2d_grad_kind = {
    .name = "max_pool2d_grad", .nin = 2, .nout = 1, .source = 1, .infer = infer_max_pool2d_grad,
};

struct tensor *max_pool2d_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &max_pool2d_kind, NULL, &x, e);
}
