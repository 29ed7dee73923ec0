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
    &max_pool2d_grad_add_kind,
    &avg_pool2d_kind,
    &avg_pool2d_grad_kind,
    &bias_kind,
    &bias_grad_kind,
    &reshape_kind,
    &dropout_kind,
    &batch_norm_relu_conv2d_kind,
    &batch_norm_relu_conv2d_grad_kind,
    &concat_kind,
    &concat_grad_kind,
    &concat_conv2d_kind,
    &concat_conv2d_grad_input_kind,
    &concat_conv2d_grad_weights_kind,
    &concat_conv2d_grad_kind,
    &add_kind,
    &norm_add_relu_kind,
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

    return kind == &max_pool2d_grad_add_kind ? 2
           : kind == &conv_transpose2d_grad_kind || kind == &concat_conv2d_grad_kind ||
               kind == &conv2d_grad_kind;
}

bool op_is_loss(const struct op_kind *kind)
{
    return kind == &bce_kind || kind == &softmax_ce_kind || kind == &dice_kind;
}

const char *op_name(const struct op *op, char dst[OP_NAME_SIZE])
{
    snprintf(dst, OP_NAME_SIZE, "%s%s%s%s%s%s", op->in[OP_FRONT_W] ? "front_" : "", op->kind->name,
             op->attr.relu ? "_relu" : "", op->attr.coef ? "_coef" : "",
             op->out[OP_OUT_POOLED] ? "_max_pool2d" : "", op->in[OP_HEAD_W] ? "_head" : "");
    return dst;
}
