/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels for NVIDIA GPUs: NHWC, fp32 and activations of 16 bits. Sums have a fixed order, so two
 * runs on one kind of GPU give the same bits. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_BACKEND_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_BACKEND_H

#include "trainer/core/backend.h"

extern const struct backend cuda_backend;

#endif
