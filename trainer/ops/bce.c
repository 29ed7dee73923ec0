/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_bce(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    (void)attr;
    if (!shape_equal(&in[0]->shape, &in[1]->shape))
        return err_set(e, ERR_INTERNAL, "bce: logits and target differ in shape");
    out[0] = in[0]->shape;
    return 0;
}

static int grad_bce(struct graph *g, const struct op *op, struct err *e)
{
    return graph_add_grad(g, op->in[0], op->out[0], e);
}

const struct op_kind bce_kind = {"bce", 2, 1, true, infer_bce, grad_bce};

int bce_append(struct graph *g, struct tensor *logits, struct tensor *target, struct err *e)
{
    return graph_append(g, &bce_kind, NULL, (struct tensor *[]){logits, target}, NULL, e) ? 0 : -1;
}
