/* SPDX-License-Identifier: BSD-3-Clause */
/* The op that adds a bias to each channel, and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_bias(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    out[0] = in[0]->shape;
    if (in[1]->shape.dim[0] != in[0]->shape.dim[DIM_C])
        return err_set(e, ERR_INTERNAL, "bias: %s does not fit its input", in[1]->name);
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    out[0] = (struct shape){1, {in[0]->shape.dim[DIM_C]}};
    return 0;
}

static int grad_bias(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *dy = op->out[0]->grad;

    if (!graph_append(g, &bias_grad_kind, NULL, &dy, (struct tensor *[]){op->in[1]->grad}, e))
        return -1;
    return op->in[0]->needs_grad ? add_to_grad(g, op->in[0], dy, e) : 0;
}

const struct op_kind bias_kind = {
    .name = "bias", .nin = 2, .nout = 1, .inplace = true, .infer = infer_bias, .grad = grad_bias,
};
const struct op_kind bias_grad_kind = {
    .name = "bias_grad", .nin = 1, .nout = 1, .infer = infer_grad,
};
