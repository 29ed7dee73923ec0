/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend for NVIDIA GPUs: activations NHWC, of floats or 16 bits; parameters are floats. Sums
 * have a fixed order, so that two runs on one kind of GPU give the same bits. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_BACKEND_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_BACKEND_H

#include "trainer/core/backend.h"

extern const struct backend cuda_backend;

#endif
