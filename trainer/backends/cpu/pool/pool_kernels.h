/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of pooling. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_POOL_POOL_KERNELS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_POOL_POOL_KERNELS_H

#include "trainer/core/kernel.h"

extern const struct kernel simd_max_pool2d, simd_max_pool2d_grad, simd_max_pool2d_grad_add;

#endif
