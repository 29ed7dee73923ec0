/* SPDX-License-Identifier: BSD-3-Clause */
/* The norm in batch_norm_relu_conv2d and in its gradient as ops by themselves, for cuda_norm_*
 * (cuda_kernel.h); the workspace begins with the norm's. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_NORM_OP_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_NORM_OP_H

#include "trainer/core/op.h"

/* (x, gamma, beta, w, running mean, running var, b) -> y, saved */
static inline struct op norm_op_forward(const struct op *op)
{
    struct op norm = {.kind = &batch_norm_kind, .attr = op->attr, .workspace = op->workspace,
                       .in = {op->in[0], op->in[1], op->in[2], op->in[4], op->in[5],
                              [OP_MOMENTS] = op->in[OP_MOMENTS]},
                       .out = {op->in[0], op->out[1]}};

    norm.attr.relu = true;
    return norm;
}

/* (dy, x, gamma, saved, beta, w) -> dx, ...: out[0] holds the gradient before the norm's, until that takes
 * its place if it is wanted. */
static inline struct op norm_op_grad(const struct op *op)
{
    struct op norm = {.kind = &batch_norm_grad_kind, .attr = op->attr,
                      .workspace = op->workspace,
                       .in = {op->out[0], op->in[1], op->in[2], op->in[3], op->in[4]},
                       .out = {op->out[0], op->out[1], op->out[2],
                               [OP_OUT_COEF] = op->out[OP_OUT_COEF]}};

    norm.attr.relu = true;
    return norm;
}

#endif
