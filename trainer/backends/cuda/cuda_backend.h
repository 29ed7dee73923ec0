/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend for NVIDIA GPUs: activations NHWC, of floats or 16 bits; parameters are floats. Its
 * own kernels sum in a fixed order. Engines of cuDNN are chosen by time and may not, so that two
 * runs on one kind of GPU surely give the same bits only with device_config.deterministic. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_BACKEND_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_BACKEND_H

#include "trainer/core/kernel.h"

extern const struct backend cuda_backend;

#endif
