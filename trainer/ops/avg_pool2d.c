/* SPDX-License-Identifier: BSD-3-Clause */
/* The op avg_pool2d and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    const int64_t *dy = in[0]->shape.dim;

    if (attr->height / 2 != dy[DIM_H] || attr->width / 2 != dy[DIM_W])
        return err_set(e, ERR_INTERNAL, "avg_pool2d: gradient does not fit the input");
    out[0] = shape_nhwc(dy[DIM_N], attr->height, attr->width, dy[DIM_C]);
    return 0;
}

static int grad_pool(struct graph *g, const struct op *op, struct err *e)
{
    return ops_append_sized_grad(g, op, &avg_pool2d_grad_kind, e);
}

const struct op_kind avg_pool2d_kind = {
    .name = "avg_pool2d", .nin = 1, .nout = 1, .infer = ops_infer_pooled, .grad = grad_pool,
};
const struct op_kind avg_pool2d_grad_kind = {
    .name = "avg_pool2d_grad", .nin = 1, .nout = 1, .infer = infer_grad,
};

struct tensor *avg_pool2d_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &avg_pool2d_kind, NULL, &x, e);
}
