/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend for NVIDIA GPUs: activations NHWC, of floats or 16 bits; parameters are floats.
 *
 * backends.c lists it; networks run its ops on a struct device, which cuda_backend.c implements on
 * top of runtime/. kernels/ has what is written in CUDA C, and compiles as C for tests; cudnn/ has
 * the convolutions. Its own kernels sum in a fixed order. Engines of cuDNN are chosen by time and
 * may not, so that two runs on one kind of GPU surely give the same bits only with
 * device_config.deterministic.
 *
 * To read: runtime/gpu.h, the language of the kernels; runtime/cuda_kernel.h;
 * kernels/elementwise.cu; cuda_backend.c; then cudnn/cudnn_conv.h. */
#pragma once

#include "trainer/core/kernel.h"

extern const struct backend cuda_backend;
