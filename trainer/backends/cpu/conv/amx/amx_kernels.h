/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of convolutions and transposed convolutions of bf16 by AMX tiles (isa/amx_tiles.h). */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_KERNELS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_KERNELS_H

#include "trainer/core/kernel.h"

extern const struct kernel simd_amx_conv, simd_amx_conv_grad_input, simd_amx_conv_grad_weights;
extern const struct kernel simd_amx_conv_grad, simd_amx_transpose, simd_amx_transpose_grad_input;
extern const struct kernel simd_amx_transpose_grad_weights;

#endif
