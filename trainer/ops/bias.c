/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_bias(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    (void)attr;
    out[0] = in[0]->shape;
    if (in[1]->shape.dim[0] != in[0]->shape.dim[DIM_C])
        return err_set(e, ERR_INTERNAL, "bias: %s does not fit its input", in[1]->name);
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    (void)attr;
    (void)e;
    out[0] = (struct shape){1, {in[0]->shape.dim[DIM_C]}};
    return 0;
}

static int grad_bias(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *dy = op->out[0]->grad;

    if (!graph_append(g, &bias_grad_kind, NULL, &dy, (struct tensor *[]){op->in[1]->grad}, e))
        return -1;
    return op->in[0]->needs_grad ? graph_add_grad(g, op->in[0], dy, e) : 0;
}

const struct op_kind bias_kind = {"bias", 2, 1, true, infer_bias, grad_bias};
const struct op_kind bias_grad_kind = {"bias_grad", 1, 1, false, infer_grad, NULL};
