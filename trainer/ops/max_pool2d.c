/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops max_pool2d and relu_max_pool2d, and their gradients. */
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
    (void)attr;
    out[0] = shape_nhwc(x->dim[DIM_N], x->dim[DIM_H] / 2, x->dim[DIM_W] / 2, x->dim[DIM_C]);
    return 0;
}

static int infer_relu_max_pool2d(const struct op_attr *attr, struct tensor *const *in,
                                 struct shape *out, struct err *e)
{
    if (infer_max_pool2d(attr, in, out, e) < 0)
        return -1;
    out[1] = places_of(&out[0]);
    return 0;
}

static int infer_relu_max_pool2d_grad(const struct op_attr *attr, struct tensor *const *in,
                                      struct shape *out, struct err *e)
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
    struct shape pooled;

    if (infer_max_pool2d(attr, &in[1], &pooled, e) < 0)
        return -1;
    if (!shape_equal(&in[0]->shape, &pooled))
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradient does not fit the input");
    out[0] = in[1]->shape;
    if (in[OP_ADDED] && !shape_equal(&in[OP_ADDED]->shape, out))
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradients do not fit each other");
    return 0;
}

static int grad_max_pool2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *y = op->out[0];
    struct tensor *dx = graph_append_result(g, &max_pool2d_grad_kind, NULL,
                                            (struct tensor *[]){y->grad, x}, e);

    return add_to_grad(g, x, dx, e);
}

static int grad_relu_max_pool2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *y = op->out[0];
    struct op_attr attr = {.height = x->shape.dim[DIM_H], .width = x->shape.dim[DIM_W]};
    struct tensor *dx = graph_append_result(g, &relu_max_pool2d_grad_kind, &attr,
                                            (struct tensor *[]){y->grad, y, op->out[1]}, e);

    return add_to_grad(g, x, dx, e);
}

const struct op_kind max_pool2d_kind = {
    .name = "max_pool2d", .nin = 1, .nout = 1, .infer = infer_max_pool2d, .grad = grad_max_pool2d,
};
const struct op_kind max_pool2d_grad_kind = {
    .name = "max_pool2d_grad", .nin = 2, .nout = 1, .source = 1, .infer = infer_max_pool2d_grad,
};
const struct op_kind relu_max_pool2d_kind = {
    .name = "relu_max_pool2d", .nin = 1, .nout = 2, .infer = infer_relu_max_pool2d,
    .grad = grad_relu_max_pool2d,
};
const struct op_kind relu_max_pool2d_grad_kind = {
    .name = "relu_max_pool2d_grad", .nin = 3, .nout = 1, .infer = infer_relu_max_pool2d_grad,
};

struct tensor *max_pool2d_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &max_pool2d_kind, NULL, &x, e);
}
