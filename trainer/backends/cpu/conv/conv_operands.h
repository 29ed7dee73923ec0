/* SPDX-License-Identifier: BSD-3-Clause */
/* The operands of a convolution or of one of its gradients by their role: src * weights + bias =
 * dst. For the gradient of the input src is dy; for that of the weights dst is dy, and weights and
 * bias are where the gradients go. For an op with both gradients the operands are those of the
 * input's. src and dst may each be two tensors that are concatenated by channels. The graph owns
 * all of them. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_OPERANDS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_OPERANDS_H

#include "trainer/backends/cpu/norm/batch_norm.h"

#define CONV_CONCAT 2

/* Computes rows of the first source tensor, which is never written: n rows of one image from row y
 * on, counted over all images; row y + i goes to to[i]. */
struct conv_producer {
    void (*rows)(const struct conv_producer *producer, size_t y, size_t n, float *const *to);
    const struct op *op; /* the op whose results they are */
};

/* Operands that an op does not have are NULL. */
struct conv_operands {
    const struct tensor *src[CONV_CONCAT], *dst[CONV_CONCAT], *weights, *bias;
    /* Set by the caller, at first NULL: the norm that is applied while src[k] is read; and what
     * computes src[0] if that is never written. */
    const struct batch_norm_map *norm[CONV_CONCAT];
    const struct conv_producer *producer;
};

struct conv_operands conv_operands_of(const struct op *op);

/* Return one of both gradients of a convolution as an op of its own. Of what fusion added, only a
 * second source remains. */
struct op conv_operands_input_grad(const struct op *op);
struct op conv_operands_weights_grad(const struct op *op);

/* Return the sum, and the greatest common divisor, of the tensors' numbers of channels. */
size_t conv_operands_channels(const struct tensor *const *tensors);
size_t conv_operands_common_channels(const struct tensor *const *tensors);

#endif
