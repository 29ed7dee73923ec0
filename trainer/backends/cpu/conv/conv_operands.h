/* SPDX-License-Identifier: BSD-3-Clause */
/* The operands of a convolution or of one of its gradients by their role: src * weights + bias =
 * dst. For the gradient of the input src is dy; for that of the weights dst is dy, and weights and
 * bias are where the gradients go. The graph owns all of them. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_OPERANDS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_OPERANDS_H

#include "trainer/core/kernel.h"

struct conv_operands {
    const struct tensor *src, *dst, *weights, *bias; /* bias may be NULL */
};

/* Of a conv2d_grad, which has both gradients, it returns the operands of the input's, and
 * conv_operands_weights_grad() those of the weights'. */
struct conv_operands conv_operands_of(const struct op *op);
struct conv_operands conv_operands_weights_grad(const struct op *op);

#endif
