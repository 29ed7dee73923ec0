/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops of losses: their shapes, and which of them loss_append chooses. A kernel of a loss
 * computes value and gradient at the same time. */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_loss(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    struct shape target = in[0]->shape;

    target.dim[DIM_C] = 1;
    if (!shape_equal(&target, &in[1]->shape))
        return err_set(e, ERR_INTERNAL, "loss: the targets do not fit the logits");
    out[0] = in[0]->shape;
    return 0;
}

static int infer_bce(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    if (in[0]->shape.dim[DIM_C] != 1)
        return err_set(e, ERR_INTERNAL, "bce: more than one logit per pixel");
    return infer_loss(attr, in, out, e);
}

static int grad_loss(struct graph *g, const struct op *op, struct err *e)
{
    return add_to_grad(g, op->in[0], op->out[0], e);
}

const struct op_kind bce_kind = {
    .name = "bce", .nin = 2, .nout = 1, .inplace = true, .is_loss = true, .infer = infer_bce,
    .grad = grad_loss,
};
const struct op_kind softmax_ce_kind = {
    .name = "softmax_ce", .nin = 2, .nout = 1, .inplace = true, .is_loss = true,
    .infer = infer_loss, .grad = grad_loss,
};
const struct op_kind dice_kind = {
    .name = "dice", .nin = 2, .nout = 1, .inplace = true, .is_loss = true, .infer = infer_loss,
    .grad = grad_loss,
};

int loss_append(struct graph *g, enum loss loss, const float *ce_weights,
                const float *dice_weights, struct tensor *logits, struct tensor *target,
                struct err *e)
{
    struct op_attr attr = {.class_weights = ce_weights, .counts = true, .measures = g->measures};
    struct tensor *in[2] = {logits, target};
    const struct op_kind *ce = logits && tensor_channels(logits) > 1 ? &softmax_ce_kind : &bce_kind;

    if (loss != LOSS_DICE && !graph_append(g, ce, &attr, in, NULL, e))
        return -1;
    attr.counts = loss == LOSS_DICE;
    attr.class_weights = dice_weights;
    return loss == LOSS_CE || graph_append(g, &dice_kind, &attr, in, NULL, e) ? 0 : -1;
}
