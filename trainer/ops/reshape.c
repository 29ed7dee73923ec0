/* SPDX-License-Identifier: BSD-3-Clause */
/* The op reshape, whose gradient is a reshape. */
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

static int grad_reshape(struct graph *g, const struct op *op, struct err *e)
{
    return ops_append_sized_grad(g, op, &reshape_kind, e);
}

const struct op_kind reshape_kind = {
    .name = "reshape", .nin = 1, .nout = 1, .inplace = true, .infer = infer_reshape,
    .grad = grad_reshape,
};

struct tensor *reshape_append_flat(struct graph *g, struct tensor *x, struct err *e)
{
    struct op_attr attr = {.height = 1, .width = 1};

    if (!x)
        return NULL;
    attr.channels = x->shape.dim[DIM_H] * x->shape.dim[DIM_W] * x->shape.dim[DIM_C];
    return graph_append_result(g, &reshape_kind, &attr, &x, e);
}
