/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference backend: plain kernels for every kind of op, with which other backends are
 * compared. The CPU backend "simd" falls back to it. Sums have a fixed order that does not depend
 * on the number of threads. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_REF_H
#define UNETCTL_TRAINER_BACKENDS_REF_REF_H

#include "trainer/core/backend.h"

extern const struct kernel ref_conv2d;
extern const struct kernel ref_conv2d_grad_input;
extern const struct kernel ref_conv2d_grad_weights;
extern const struct kernel ref_batch_norm_scale_shift;
extern const struct kernel ref_conv_transpose2d;
extern const struct kernel ref_conv_transpose2d_grad_input;
extern const struct kernel ref_conv_transpose2d_grad_weights;
extern const struct kernel ref_batch_norm;
extern const struct kernel ref_batch_norm_grad;
extern const struct kernel ref_batch_norm_infer;
extern const struct kernel ref_batch_norm_grad_coef;
extern const struct kernel ref_fold_norm;
extern const struct kernel ref_relu;
extern const struct kernel ref_relu_grad;
extern const struct kernel ref_max_pool2d;
extern const struct kernel ref_max_pool2d_grad;
extern const struct kernel ref_relu_max_pool2d;
extern const struct kernel ref_relu_max_pool2d_grad;
extern const struct kernel ref_avg_pool2d;
extern const struct kernel ref_avg_pool2d_grad;
extern const struct kernel ref_bias;
extern const struct kernel ref_bias_grad;
extern const struct kernel ref_reshape;
extern const struct kernel ref_dropout;
extern const struct kernel ref_concat;
extern const struct kernel ref_concat_grad;
extern const struct kernel ref_add;
extern const struct kernel ref_norm_add_relu;
extern const struct kernel ref_cast;
extern const struct kernel ref_global_avg_pool;
extern const struct kernel ref_global_avg_pool_grad;
extern const struct kernel ref_subsample;
extern const struct kernel ref_subsample_grad;
extern const struct kernel ref_bce;
extern const struct kernel ref_softmax_ce;
extern const struct kernel ref_dice;

/* Fused ops, which compose.c computes by the kernels above. */
extern const struct kernel ref_composed_conv2d, ref_composed_conv2d_grad;
extern const struct kernel ref_composed_conv_transpose2d, ref_composed_conv_transpose2d_grad;
extern const struct kernel ref_composed_max_pool2d, ref_composed_max_pool2d_grad;

extern const struct backend ref_backend;

#endif
