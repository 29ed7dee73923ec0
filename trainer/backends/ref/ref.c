/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/ref.h"

/* Those with attr.raw. */
#define RAW                                                                         \
    &ref_raw_concat_conv2d, &ref_raw_concat_conv2d_grad, &ref_raw_conv_transpose2d, \
    &ref_raw_conv_transpose2d_grad, &ref_raw_max_pool2d,                            \
    &ref_raw_max_pool2d_grad_add

static const struct kernel *const kernels[] = {
    &ref_conv2d,
    &ref_conv2d_grad_input,
    &ref_conv2d_grad_weights,
    &ref_conv2d_grad,
    &ref_conv2d_nobias_grad,
    &ref_conv2d_nobias,
    &ref_conv2d_relu,
    &ref_conv2d_relu_max_pool2d,
    &ref_conv2d_relu_conv2d,
    &ref_conv2d_relu_conv2d_relu_max_pool2d,
    &ref_conv_transpose2d_concat_conv2d_relu,
    &ref_conv2d_nobias_grad_weights,
    &ref_conv_transpose2d,
    &ref_conv_transpose2d_grad_input,
    &ref_conv_transpose2d_grad_weights,
    &ref_conv_transpose2d_grad,
    &ref_batch_norm,
    &ref_batch_norm_grad,
    &ref_batch_norm_infer,
    &ref_batch_norm_relu,
    &ref_batch_norm_relu_coef,
    &ref_batch_norm_relu_grad,
    &ref_batch_norm_relu_grad_coef,
    &ref_batch_norm_relu_infer,
    &ref_fold_norm,
    &ref_fold_norm_nobias,
    &ref_relu,
    &ref_relu_grad,
    &ref_max_pool2d,
    &ref_max_pool2d_grad,
    &ref_max_pool2d_grad_add,
    &ref_relu_max_pool2d,
    &ref_relu_max_pool2d_grad,
    &ref_avg_pool2d,
    &ref_avg_pool2d_grad,
    &ref_bias,
    &ref_bias_grad,
    &ref_reshape,
    &ref_dropout,
    &ref_batch_norm_relu_conv2d,
    &ref_batch_norm_relu_conv2d_grad,
    &ref_batch_norm_relu_conv2d_nobias,
    &ref_batch_norm_relu_conv2d_nobias_grad,
    &ref_concat,
    &ref_concat_grad,
    &ref_concat_conv2d,
    &ref_concat_conv2d_relu,
    &ref_concat_conv2d_grad_input,
    &ref_concat_conv2d_grad_weights,
    &ref_concat_conv2d_grad,
    &ref_add,
    &ref_norm_add_relu,
    &ref_global_avg_pool,
    &ref_global_avg_pool_grad,
    &ref_subsample,
    &ref_subsample_grad,
    &ref_bce,
    &ref_softmax_ce,
    &ref_dice,
    RAW,
    NULL,
};

static const struct kernel *const mixed[] = {
    &ref_cast,
    &ref_concat,
    &ref_concat_grad,
    &ref_reshape,
    &ref_subsample,
    &ref_subsample_grad,
    NULL,
};

static const struct kernel *const fused[] = {
    &ref_conv2d,
    &ref_conv2d_nobias,
    &ref_concat_conv2d,
    &ref_batch_norm,
    &ref_batch_norm_relu,
    &ref_batch_norm_relu_conv2d,
    &ref_batch_norm_relu_conv2d_nobias,
    &ref_conv2d_grad,
    &ref_conv2d_nobias_grad,
    &ref_conv2d_grad_weights,
    &ref_conv2d_nobias_grad_weights,
    &ref_concat_conv2d_grad,
    &ref_batch_norm_relu_conv2d_grad,
    &ref_batch_norm_relu_conv2d_nobias_grad,
    &ref_batch_norm_relu_coef,
    &ref_batch_norm_relu_grad,
    &ref_batch_norm_relu_grad_coef,
    RAW,
    NULL,
};

static const struct kernel *const raw[] = {
    RAW,
    NULL,
};

const struct backend ref_backend = {.name = "ref", .kernels = kernels, .mixed = mixed, .more = fused,
                                    .raw = raw};
