/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of op kinds. */
#include "config.h"
#include "trainer/core/op.h"

#include <stddef.h>

const struct op_kind *const op_kinds[] = {
    &conv2d_kind,
    &conv2d_grad_kind,
    &conv_transpose2d_kind,
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
