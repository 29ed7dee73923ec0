/* SPDX-License-Identifier: BSD-3-Clause */
/* The shortcut of a residual block that halves the size, and its gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_subsample(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    if (attr->channels < x[DIM_C])
        return err_set(e, ERR_INTERNAL, "subsample: fewer channels than the input has");
    out[0] = shape_nhwc(x[DIM_N], (x[DIM_H] + 1) / 2, (x[DIM_W] + 1) / 2, attr->channels);
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    const int64_t *dy = in[0]->shape.dim;

    if ((attr->height + 1) / 2 != dy[DIM_H] || (attr->width + 1) / 2 != dy[DIM_W])
        return err_set(e, ERR_INTERNAL, "subsample: gradient does not fit the input");
    out[0] = shape_nhwc(dy[DIM_N], attr->height, attr->width, attr->channels);
    return 0;
}

static int grad_subsample(struct graph *g, const struct op *op, struct err *e)
{
    return ops_append_sized_grad(g, op, &subsample_grad_kind, e);
}

const struct op_kind subsample_kind = {
    .name = "subsample", .nin = 1, .nout = 1, .infer = infer_subsample, .grad = grad_subsample,
};
const struct op_kind subsample_grad_kind = {
    .name = "subsample_grad", .nin = 1, .nout = 1, .infer = infer_grad,
};

struct tensor *subsample_append(struct graph *g, struct tensor *x, int64_t channels, struct err *e)
{
    return graph_append_result(g, &subsample_kind, &(struct op_attr){.channels = channels}, &x, e);
}
