/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cuda_backend.h"

#include "trainer/backends/cuda/cuda_check.h"
#include "trainer/backends/cuda/cuda_kernel.h"
#include "trainer/backends/cuda/cudnn_conv.h"

/* Losses do their work in floats: logits are floats (core/precision.h). */
static const struct kernel *const kernels[] = {
    &cudnn_conv_conv2d,
    &cudnn_conv_conv2d_grad,
    &cudnn_conv_conv_transpose2d,
    &cudnn_conv_conv_transpose2d_grad,
    &cuda_narrow_conv2d,
    &cuda_narrow_conv2d_grad_input,
    &cuda_narrow_conv2d_grad_weights,
    &cuda_narrow_conv2d_grad,
    &cuda_narrow_conv_transpose2d,
    &cuda_narrow_conv_transpose2d_grad_input,
    &cuda_narrow_conv_transpose2d_grad_weights,
    &cuda_narrow_conv_transpose2d_grad,
    &cuda_batch_norm,
    &cuda_batch_norm_grad,
    &cuda_batch_norm_infer,
    &cuda_batch_norm_coef,
    &cuda_batch_norm_grad_coef,
    &cuda_pass_add,
    &cuda_pass_concat,
    &cuda_pass_concat_grad,
    &cuda_pass_head,
    &cuda_pass_head_grad,
    &cuda_pass_head_grad_input,
    &cuda_pass_head_grad_weights,
    &cuda_pass_max_pool2d,
    &cuda_pass_max_pool2d_grad,
    &cuda_pass_relu,
    &cuda_pass_relu_grad,
    &cuda_conv2d,
    &cuda_conv2d_grad_input,
    &cuda_conv2d_grad_weights,
    &cuda_conv_transpose2d,
    &cuda_conv_transpose2d_grad_input,
    &cuda_conv_transpose2d_grad_weights,
    &cuda_relu,
    &cuda_relu_grad,
    &cuda_concat,
    &cuda_concat_grad,
    &cuda_add,
    &cuda_max_pool2d,
    &cuda_max_pool2d_grad,
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

bool cuda_supports(const struct op *op)
{
    for (int i = -1; op_next_in(op, &i);)
        if (tensor_count(op->in[i]) >> 31)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (tensor_count(op->out[i]) >> 31)
            return false;
    return true;
}

/* Of its activations; parameters and statistics are floats. */
bool cuda_supports_one_type(const struct op *op)
{
    enum dtype t = op->in[0]->dtype;

    for (int i = -1; op_next_in(op, &i);)
        if (op->in[i]->place == TENSOR_ARENA && op->in[i]->shape.ndim == 4 && op->in[i]->dtype != t)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (op->out[i]->place == TENSOR_ARENA && op->out[i]->shape.ndim == 4 &&
            op->out[i]->dtype != t)
            return false;
    return cuda_supports(op);
}

const struct backend cuda_backend = {.name = "cuda", .kernels = kernels, .trusts = cuda_check,
                                     .fuses = true,
                                     .device = &cuda_device_ops};
