/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops that fused kinds of convolutions stand for (core/op.h). Tensors are the op's own, attr is its. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_PARTS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_PARTS_H

#include "trainer/core/op.h"

/* Both gradients of a convolution as ops by themselves. */
struct conv_parts {
    struct op input, weights;
};

/* Of conv2d_grad and concat_conv2d_grad, with or without bias, without what fusion has added. */
struct conv_parts conv_parts_grad(const struct op *op);

#endif
