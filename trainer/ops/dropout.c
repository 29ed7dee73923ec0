/* SPDX-License-Identifier: BSD-3-Clause */
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

/* The same numbers are dropped: the same op, on the gradient. */
static int grad_dropout(struct graph *g, const struct op *op, struct err *e)
{
    struct op *grad;

    if (!op->in[0]->needs_grad)
        return 0;
    grad = graph_append(g, &dropout_kind, &op->attr, (struct tensor *[]){op->out[0]->grad}, NULL,
                        e);
    return grad ? add_to_grad(g, op->in[0], grad->out[0], e) : -1;
}

const struct op_kind dropout_kind = {
    .name = "dropout", .nin = 1, .nout = 1, .inplace = true, .infer = infer_dropout,
    .grad = grad_dropout,
};

struct tensor *dropout_append(struct graph *g, struct tensor *x, double rate, struct err *e)
{
    struct op_attr attr = {.rate = rate, .stream = 1};
    struct op *op;

    if (!g->training)
        return x;
    for (size_t i = 0; i < g->nops; i++)
        attr.stream += g->ops[i]->kind == &dropout_kind;
    op = graph_append(g, &dropout_kind, &attr, &x, NULL, e);
    return op ? op->out[0] : NULL;
}
