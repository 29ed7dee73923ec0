/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_reshape(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e)
{
    out[0] = shape_nhwc(in[0]->shape.dim[DIM_N], attr->height, attr->width, attr->channels);
    if (shape_count(&out[0]) != tensor_count(in[0]))
        return err_set(e, ERR_INTERNAL, "reshape: the result has another size");
    return 0;
}

/* Back to the shape of the input. */
static int grad_reshape(struct graph *g, const struct op *op, struct err *e)
{
    const int64_t *dim = op->in[0]->shape.dim;
    struct op_attr attr = {.height = dim[DIM_H], .width = dim[DIM_W], .channels = dim[DIM_C]};
    struct op *grad;

    if (!op->in[0]->needs_grad)
        return 0;
    grad = graph_append(g, &reshape_kind, &attr, (struct tensor *[]){op->out[0]->grad}, NULL, e);
    return grad ? add_to_grad(g, op->in[0], grad->out[0], e) : -1;
}

const struct op_kind reshape_kind = {
    .name = "reshape", .nin = 1, .nout = 1, .inplace = true, .infer = infer_reshape,
    .grad = grad_reshape,
};

struct tensor *reshape_append_flat(struct graph *g, struct tensor *x, struct err *e)
{
    struct op_attr attr = {.height = 1, .width = 1};
    struct op *op;

    if (!x)
        return NULL;
    attr.channels = x->shape.dim[DIM_H] * x->shape.dim[DIM_W] * x->shape.dim[DIM_C];
    op = graph_append(g, &reshape_kind, &attr, &x, NULL, e);
    return op ? op->out[0] : NULL;
}
