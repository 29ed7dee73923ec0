/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of 3x3 convolutions by Winograd's transforms (winograd.h). */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_WINOGRAD_WINOGRAD_KERNELS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_WINOGRAD_WINOGRAD_KERNELS_H

#include "trainer/core/kernel.h"

extern const struct kernel simd_winograd, simd_winograd_relu, simd_winograd_grad;
extern const struct kernel simd_winograd_grad_input, simd_winograd_grad_weights;

#endif
