/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_relu(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    (void)attr;
    (void)e;
    out[0] = in[0]->shape;
    return 0;
}

static int infer_relu_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    if (!shape_equal(&in[0]->shape, &in[1]->shape))
        return err_set(e, ERR_INTERNAL, "relu: gradient does not fit the result");
    return infer_relu(attr, in, out, e);
}

static int grad_relu(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *y = op->out[0];
    struct op *grad = graph_append(g, &relu_grad_kind, NULL, (struct tensor *[]){y->grad, y}, NULL,
                                   e);

    return grad ? add_to_grad(g, op->in[0], grad->out[0], e) : -1;
}

const struct op_kind relu_kind = {
    .name = "relu", .nin = 1, .nout = 1, .inplace = true, .infer = infer_relu, .grad = grad_relu,
};
const struct op_kind relu_grad_kind = {
    .name = "relu_grad", .nin = 2, .nout = 1, .inplace = true, .infer = infer_relu_grad,
};

struct tensor *relu_append(struct graph *g, struct tensor *x, struct err *e)
{
    struct op *op = graph_append(g, &relu_kind, NULL, &x, NULL, e);

    return op ? op->out[0] : NULL;
}
