/* SPDX-License-Identifier: BSD-3-Clause */
/* The op relu_max_pool2d, a ReLU and the max pooling after it, and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static struct shape places_of(const struct shape *y)
{
    int64_t n = (int64_t)shape_count(y);

    return (struct shape){1, {(n + OP_PLACES - 1) / OP_PLACES}};
}

static int infer_forward(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e)
{
    if (ops_infer_pooled(attr, in, out, e) < 0)
        return -1;
    out[1] = places_of(&out[0]);
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    const struct shape *y = &in[1]->shape, places = places_of(y);

    if (!shape_equal(&in[0]->shape, y) || !shape_equal(&in[2]->shape, &places) ||
        attr->height / 2 != y->dim[DIM_H] || attr->width / 2 != y->dim[DIM_W])
        return err_set(e, ERR_INTERNAL, "relu_max_pool2d: gradient does not fit the result");
    out[0] = shape_nhwc(y->dim[DIM_N], attr->height, attr->width, y->dim[DIM_C]);
    return 0;
}

static int append_grad(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *y = op->out[0];
    struct op_attr attr = {.height = x->shape.dim[DIM_H], .width = x->shape.dim[DIM_W]};
    struct tensor *dx = graph_append_result(g, &relu_max_pool2d_grad_kind, &attr,
                                            (struct tensor *[]){y->grad, y, op->out[1]}, e);

    return add_to_grad(g, x, dx, e);
}

const struct op_kind relu_max_pool2d_kind = {
    .name = "relu_max_pool2d", .nin = 1, .nout = 2, .infer = infer_forward, .grad = append_grad,
};
const struct op_kind relu_max_pool2d_grad_kind = {
    .name = "relu_max_pool2d_grad", .nin = 3, .nout = 1, .infer = infer_grad,
};
