/* SPDX-License-Identifier: BSD-3-Clause */
/* What half_conv.c and half_conv_weights.c have in common. */
#ifndef UNETCTL_TRAINER_BACKENDS_SIMD_HALF_CONV_H
#define UNETCTL_TRAINER_BACKENDS_SIMD_HALF_CONV_H

#include "trainer/backends/simd/roles.h"

/* A 3x3 convolution of stride 1 whose activations are bf16, and which is faster so? */
bool half_conv_supports(const struct op *op, const struct roles *r);

#endif
