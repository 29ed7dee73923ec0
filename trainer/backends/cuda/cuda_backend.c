/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cuda_backend.h"

#include "trainer/backends/cuda/cuda_device.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/cudnn_conv.h"

/* Kernels of losses take floats: logits are floats (passes/precision.h). */
static const struct kernel *const kernels[] = {
    &cudnn_conv_conv2d,
    &cudnn_conv_conv2d_relu,
    &cudnn_conv_conv2d_grad_input,
    &cudnn_conv_conv2d_grad_weights,
    &cudnn_conv_conv_transpose2d,
    &cudnn_conv_conv_transpose2d_grad_input,
    &cudnn_conv_conv_transpose2d_grad_weights,
    &cuda_batch_norm,
    &cuda_batch_norm_grad,
    &cuda_batch_norm_relu,
    &cuda_batch_norm_relu_grad,
    &cuda_batch_norm_infer,
    &cuda_fold_norm,
    &cuda_relu,
    &cuda_relu_grad,
    &cuda_concat,
    &cuda_concat_grad,
    &cuda_add,
    &cuda_max_pool2d,
    &cuda_max_pool2d_grad,
    &cuda_max_pool2d_grad_add,
    &cuda_avg_pool2d,
    &cuda_avg_pool2d_grad,
    &cuda_global_avg_pool,
    &cuda_global_avg_pool_grad,
    &cuda_subsample,
    &cuda_subsample_grad,
    &cuda_bias,
    &cuda_bias_grad,
    &cuda_reshape,
    &cuda_dropout,
    &cuda_cast,
    &cuda_bce,
    &cuda_softmax_ce,
    &cuda_dice,
    NULL,
};

const struct backend cuda_backend = {.name = "cuda", .kernels = kernels, .fuses = true,
                                     .device = &cuda_device_ops};
