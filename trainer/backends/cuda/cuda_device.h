/* SPDX-License-Identifier: BSD-3-Clause */
/* NVIDIA GPUs as devices (core/device.h). */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_DEVICE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_DEVICE_H

#include "trainer/core/kernel.h"

extern const struct device_ops cuda_device_ops;

#endif
