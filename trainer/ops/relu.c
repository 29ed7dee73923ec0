/* SPDX-License-Identifier: BSD-3-Clause */
/* The op relu and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_relu_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    if (!shape_equal(&in[0]->shape, &in[1]->shape))
        return err_set(e, ERR_INTERNAL, "relu: gradient does not fit the result");
    return ops_infer_same_shape(attr, in, out, e);
}

static int grad_relu(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *y = op->out[0], *in[] = {y->grad, y};

    return add_to_grad(g, op->in[0], graph_append_result(g, &relu_grad_kind, NULL, in, e), e);
}

const struct op_kind relu_kind = {
    .name = "relu", .nin = 1, .nout = 1, .inplace = true, .infer = ops_infer_same_shape,
    .grad = grad_relu,
};
const struct op_kind relu_grad_kind = {
    .name = "relu_grad", .nin = 2, .nout = 1, .inplace = true, .infer = infer_relu_grad,
};

struct tensor *relu_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &relu_kind, NULL, &x, e);
}
