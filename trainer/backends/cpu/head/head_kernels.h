/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of the head, a 1x1 convolution to one channel. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_KERNELS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_HEAD_HEAD_KERNELS_H

#include "trainer/core/kernel.h"

extern const struct kernel simd_head, simd_head_grad_input, simd_head_grad_weights, simd_head_grad;

#endif
