/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops that fused kinds of convolutions stand for (core/op.h). Tensors are the op's own, attr is its. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_PARTS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_PARTS_H

#include "trainer/core/op.h"

/* A norm with ReLU, if any (norm.kind NULL: none), and the convolution behind it, or both its gradients. */
struct conv_parts {
    struct op norm, conv, input, weights;
};

/* Of batch_norm_relu_conv2d, with or without bias. The norm's result has the shape of x, and nobody reads what
 * it holds: x stands for it. */
struct conv_parts conv_parts_forward(const struct op *op);

/* Of conv2d_grad, concat_conv2d_grad and batch_norm_relu_conv2d_grad, with or without bias. Of the last dx
 * holds the gradient of what the norm gave until that of the norm takes its place, if it is not left to who
 * reads it. Inputs behind those of the kind are left out. */
struct conv_parts conv_parts_grad(const struct op *op);

#endif
