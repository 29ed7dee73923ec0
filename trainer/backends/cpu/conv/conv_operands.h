/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensors of a convolution or one of its gradients by what they are to it: src * weights + bias
 * = dst, whatever the direction; for the gradient of the input src is dy. src or dst may be two
 * tensors whose channels lie beside each other. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_OPERANDS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_OPERANDS_H

#include "trainer/backends/cpu/norm/batch_norm.h"

#define CONV_CONCAT 2

/* Computes rows of a part of src that is never written: n rows of an image from y on, counted
 * through all images, each to where it is asked for. */
struct conv_producer {
    void (*rows)(const struct conv_producer *producer, size_t y, size_t n, float *const *to);
    const struct op *op; /* whose results they are */
};

/* What is not there is NULL. */
struct conv_operands {
    const struct tensor *src[CONV_CONCAT], *dst[CONV_CONCAT], *weights, *bias;
    /* Set by the caller, NULL at first: the norm that is applied while src[k] is read; and what
     * computes src[0] where that is never written. */
    const struct batch_norm_map *norm[CONV_CONCAT];
    const struct conv_producer *producer;
};

struct conv_operands conv_operands_of(const struct op *op);

/* One of both gradients of a convolution as an op by itself, without what fusion has added but for
 * a second source. */
struct op conv_operands_input_grad(const struct op *op);
struct op conv_operands_weights_grad(const struct op *op);

/* Of all tensors together; and how many divide each. */
size_t conv_operands_channels(const struct tensor *const *tensors);
size_t conv_operands_common_channels(const struct tensor *const *tensors);

#endif
