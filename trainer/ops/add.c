/* SPDX-License-Identifier: BSD-3-Clause */
/* The op add, and the sum of several contributions to one gradient. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_add(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    if (!shape_equal(&in[0]->shape, &in[1]->shape))
        return err_set(e, ERR_INTERNAL, "add: %s and %s differ in shape", in[0]->name, in[1]->name);
    out[0] = in[0]->shape;
    return 0;
}

static int grad_add(struct graph *g, const struct op *op, struct err *e)
{
    for (int i = 0; i < 2; i++)
        if (op->in[i]->needs_grad && add_to_grad(g, op->in[i], op->out[0]->grad, e))
            return -1;
    return 0;
}

const struct op_kind add_kind = {
    .name = "add", .nin = 2, .nout = 1, .inplace = true, .infer = infer_add, .grad = grad_add,
};

struct tensor *add_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e)
{
    return graph_append_result(g, &add_kind, NULL, (struct tensor *[]){a, b}, e);
}

int add_to_grad(struct graph *g, struct tensor *t, struct tensor *grad, struct err *e)
{
    struct tensor *sum = t->grad && grad ? add_append(g, t->grad, grad, e) : grad;

    if (!sum)
        return -1;
    t->grad = sum;
    return 0;
}
