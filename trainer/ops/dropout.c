/* SPDX-License-Identifier: BSD-3-Clause */
/* The op dropout, which is its own gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_dropout(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e)
{
    if (!(attr->rate >= 0 && attr->rate < 1))
        return err_set(e, ERR_INTERNAL, "dropout: a rate of %g", attr->rate);
    out[0] = in[0]->shape;
    return 0;
}

/* With the same attr.stream the op drops the same elements of the gradient. */
static int grad_dropout(struct graph *g, const struct op *op, struct err *e)
{
    return ops_append_grad(g, op->in[0], &dropout_kind, &op->attr, op->out[0]->grad, e);
}

const struct op_kind dropout_kind = {
    .name = "dropout", .nin = 1, .nout = 1, .inplace = true, .infer = infer_dropout,
    .grad = grad_dropout,
};

struct tensor *dropout_append(struct graph *g, struct tensor *x, double rate, struct err *e)
{
    struct op_attr attr = {.rate = rate, .stream = 1};

    if (!g->training)
        return x;
    for (size_t i = 0; i < g->nops; i++)
        attr.stream += g->ops[i]->kind == &dropout_kind;
    return graph_append_result(g, &dropout_kind, &attr, &x, e);
}
