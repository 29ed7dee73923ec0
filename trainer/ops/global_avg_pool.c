/* SPDX-License-Identifier: BSD-3-Clause */
/* The mean over height and width, and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_pool(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    out[0] = shape_nhwc(x[DIM_N], 1, 1, x[DIM_C]);
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    const int64_t *dy = in[0]->shape.dim;

    out[0] = shape_nhwc(dy[DIM_N], attr->height, attr->width, dy[DIM_C]);
    return 0;
}

static int grad_pool(struct graph *g, const struct op *op, struct err *e)
{
    return ops_append_sized_grad(g, op, &global_avg_pool_grad_kind, e);
}

const struct op_kind global_avg_pool_kind = {
    .name = "global_avg_pool", .nin = 1, .nout = 1, .infer = infer_pool, .grad = grad_pool,
};
const struct op_kind global_avg_pool_grad_kind = {
    .name = "global_avg_pool_grad", .nin = 1, .nout = 1, .infer = infer_grad,
};

struct tensor *global_avg_pool_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &global_avg_pool_kind, NULL, &x, e);
}
