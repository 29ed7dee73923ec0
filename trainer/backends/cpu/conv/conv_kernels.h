/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of direct convolutions and of transposed ones. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_KERNELS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_KERNELS_H

#include "trainer/core/kernel.h"

extern const struct kernel simd_dot_conv2d;
extern const struct kernel simd_conv2d, simd_conv2d_relu, simd_conv2d_grad_input;
extern const struct kernel simd_conv2d_grad_weights, simd_conv_transpose2d;
extern const struct kernel simd_conv_transpose2d_grad_input, simd_conv_transpose2d_grad_weights;
extern const struct kernel simd_direct_conv2d;
extern const struct kernel simd_direct_conv2d_grad_input, simd_direct_conv2d_grad_weights;
extern const struct kernel simd_direct_conv_transpose2d, simd_direct_conv_transpose2d_grad_input;
extern const struct kernel simd_direct_conv_transpose2d_grad_weights;

#endif
