/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of op kinds, and functions that several kinds share. */
#include "config.h"
#include "trainer/ops/ops.h"

int ops_infer_same_shape(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    out[0] = in[0]->shape;
    return 0;
}

int ops_infer_pooled(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    if (x[DIM_H] < 2 || x[DIM_W] < 2)
        return err_set(e, ERR_INTERNAL, "pooling: height and width must be 2 at least");
    out[0] = shape_nhwc(x[DIM_N], x[DIM_H] / 2, x[DIM_W] / 2, x[DIM_C]);
    return 0;
}

int ops_append_grad(struct graph *g, struct tensor *x, const struct op_kind *kind,
                const struct op_attr *attr, struct tensor *dy, struct err *e)
{
    return x->needs_grad ? add_to_grad(g, x, graph_append_result(g, kind, attr, &dy, e), e) : 0;
}

int ops_append_sized_grad(struct graph *g, const struct op *op, const struct op_kind *kind,
                          struct err *e)
{
    const int64_t *x = op->in[0]->shape.dim;
    struct op_attr attr = {.height = x[DIM_H], .width = x[DIM_W], .channels = x[DIM_C]};

    return ops_append_grad(g, op->in[0], kind, &attr, op->out[0]->grad, e);
}

const struct op_kind *const op_kinds[] = {
#define OP(name) &name##_kind,
#include "trainer/core/ops.def"
#undef OP
    NULL,
};
