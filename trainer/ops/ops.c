/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of op kinds. */
#include "config.h"
#include "trainer/core/op.h"

#include <stdio.h>

const struct op_kind *const op_kinds[] = {
    &conv2d_kind,
    &conv2d_grad_input_kind,
    &conv2d_grad_weights_kind,
    &conv2d_grad_kind,
    &conv_transpose2d_kind,
    &conv_transpose2d_grad_input_kind,
    &conv_transpose2d_grad_weights_kind,
    &conv_transpose2d_grad_kind,
    &batch_norm_kind,
    &batch_norm_grad_kind,
    &batch_norm_infer_kind,
    &fold_norm_kind,
    &relu_kind,
    &relu_grad_kind,
    &max_pool2d_kind,
    &max_pool2d_grad_kind,
    &avg_pool2d_kind,
    &avg_pool2d_grad_kind,
    &bias_kind,
    &bias_grad_kind,
    &reshape_kind,
    &dropout_kind,
    &concat_kind,
    &concat_grad_kind,
    &concat_conv2d_kind,
    &concat_conv2d_grad_input_kind,
    &concat_conv2d_grad_weights_kind,
    &concat_conv2d_grad_kind,
    &add_kind,
    &cast_kind,
    &global_avg_pool_kind,
    &global_avg_pool_grad_kind,
    &subsample_kind,
    &subsample_grad_kind,
    &bce_kind,
    &softmax_ce_kind,
    &dice_kind,
    NULL,
};

int op_source(const struct op *op)
{
    const struct op_kind *kind = op->kind;

    return kind == &max_pool2d_grad_kind || kind == &conv_transpose2d_grad_kind ||
           kind == &concat_conv2d_grad_kind || kind == &conv2d_grad_kind ||
           kind == &concat_conv2d_grad_weights_kind || kind == &conv2d_grad_weights_kind;
}

unsigned op_form(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;

    return (op->attr.bare ? OP_BARE : 0) | (op->attr.relu ? OP_RELU : 0) |
           (op->attr.coef ? OP_AS_COEF : 0) | (in[OP_COEF] ? OP_HAS_COEF : 0) |
           (in[OP_SECOND_COEF] ? OP_HAS_SECOND_COEF : 0) |
           (in[OP_MOMENTS] ? OP_TAKES_MOMENTS : 0) | (out[OP_OUT_MOMENTS] ? OP_GIVES_MOMENTS : 0) |
           (in[OP_SUMS] ? OP_TAKES_SUMS : 0) | (out[OP_OUT_SUMS] ? OP_GIVES_SUMS : 0) |
           (in[OP_LATE_X] ? OP_TAKES_LATE : 0) |
           (in[OP_HEAD_W] ? OP_HAS_HEAD : 0) | (in[OP_FRONT_W] ? OP_HAS_FRONT : 0) |
           (out[OP_OUT_POOLED] ? OP_GIVES_POOLED : 0) | (in[OP_ADDED] ? OP_HAS_ADDED : 0);
}

bool op_is_loss(const struct op_kind *kind)
{
    return kind == &bce_kind || kind == &softmax_ce_kind || kind == &dice_kind;
}

const char *op_name(const struct op *op, char dst[OP_NAME_SIZE])
{
    snprintf(dst, OP_NAME_SIZE, "%s%s%s%s%s%s%s%s", op->in[OP_FRONT_W] ? "front_" : "",
             op->in[OP_COEF] ? "norm_" : "", op->kind->name, op->in[OP_ADDED] ? "_add" : "",
             op->attr.relu ? "_relu" : "", op->attr.coef ? "_coef" : "",
             op->out[OP_OUT_POOLED] ? "_max_pool2d" : "", op->in[OP_HEAD_W] ? "_head" : "");
    return dst;
}
