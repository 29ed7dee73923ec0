/* SPDX-License-Identifier: BSD-3-Clause */
/* The op that concatenates the channels of two tensors, and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_concat(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                        struct err *e)
{
    const struct shape *a = &in[0]->shape, *b = &in[1]->shape;

    out[0] = *a;
    out[0].dim[DIM_C] = b->dim[DIM_C];
    if (!shape_equal(&out[0], b))
        return err_set(e, ERR_INTERNAL, "concat: %s and %s differ in more than their channels",
                       in[0]->name, in[1]->name);
    out[0].dim[DIM_C] += a->dim[DIM_C];
    return 0;
}

static int infer_concat_grad(const struct op_attr *attr, struct tensor *const *in,
                             struct shape *out, struct err *e)
{
    out[0] = out[1] = in[0]->shape;
    out[0].dim[DIM_C] = attr->split;
    out[1].dim[DIM_C] -= attr->split;
    return 0;
}

static int grad_concat(struct graph *g, const struct op *op, struct err *e)
{
    struct op_attr attr = {.split = op->in[0]->shape.dim[DIM_C]};
    struct op *grad = graph_append(g, &concat_grad_kind, &attr,
                                   (struct tensor *[]){op->out[0]->grad}, NULL, e);

    if (!grad || add_to_grad(g, op->in[0], grad->out[0], e) < 0)
        return -1;
    return add_to_grad(g, op->in[1], grad->out[1], e);
}

const struct op_kind concat_kind = {
    .name = "concat", .nin = 2, .nout = 1, .infer = infer_concat, .grad = grad_concat,
};
const struct op_kind concat_grad_kind = {
    .name = "concat_grad", .nin = 1, .nout = 2, .infer = infer_concat_grad,
};

struct tensor *concat_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e)
{
    return graph_append_result(g, &concat_kind, NULL, (struct tensor *[]){a, b}, e);
}
