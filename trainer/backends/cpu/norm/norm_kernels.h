/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of batch norm. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_KERNELS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_KERNELS_H

#include "trainer/core/kernel.h"

extern const struct kernel simd_batch_norm, simd_batch_norm_grad, simd_batch_norm_infer;
extern const struct kernel simd_batch_norm_relu, simd_batch_norm_relu_grad;

#endif
