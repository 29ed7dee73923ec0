/* SPDX-License-Identifier: BSD-3-Clause */
/* The op max_pool2d and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_max_pool2d_grad(const struct op_attr *attr, struct tensor *const *in,
                                 struct shape *out, struct err *e)
{
    struct shape pooled;

    if (ops_infer_pooled(attr, &in[1], &pooled, e) < 0)
        return -1;
    if (!shape_equal(&in[0]->shape, &pooled))
        return err_set(e, ERR_INTERNAL, "max_pool2d: gradient does not fit the input");
    out[0] = in[1]->shape;
    return 0;
}

static int infer_max_pool2d_grad_add(const struct op_attr *attr, struct tensor *const *in,
                                     struct shape *out, struct err *e)
{
    if (infer_max_pool2d_grad(attr, in + 1, out, e) < 0)
        return -1;
    if (!shape_equal(&in[0]->shape, out))
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

const struct op_kind max_pool2d_kind = {
    .name = "max_pool2d", .nin = 1, .nout = 1, .infer = ops_infer_pooled, .grad = grad_max_pool2d,
};
const struct op_kind max_pool2d_grad_kind = {
    .name = "max_pool2d_grad", .nin = 2, .nout = 1, .infer = infer_max_pool2d_grad,
};
const struct op_kind max_pool2d_grad_add_kind = {
    .name = "max_pool2d_grad_add", .nin = 3, .nout = 1, .inplace = true,
    .infer = infer_max_pool2d_grad_add,
};

struct tensor *max_pool2d_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &max_pool2d_kind, NULL, &x, e);
}
