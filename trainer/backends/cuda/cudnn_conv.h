/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions by cuDNN where that is faster than the kernels that are here without it. When an op
 * runs for the first time, its engines and that kernel take turns on it, and the fastest stays
 * (cudnn_choices.h); engines that a CUDA graph can't have in it are left out. In deterministic mode
 * the first engine whose result is always the same is taken. Without the library everything stays
 * as it is. A bias behind a convolution, and a ReLU, are done in the engine's graph or by a pass of
 * ours behind it: engines of both kinds take turns. A result's moments (core/op.h) are a pass of
 * their own behind an engine, which is part of its time; both gradients in one pass, and norms
 * applied on the way in, are own kernels' without a choice. Replicas take rank 0's choices
 * (device_ops.choices). UNET_CUDNN=off: no engines. UNET_CUDNN=only: the first engine, whatever its
 * time. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CONV_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CONV_H

#include "trainer/core/kernel.h"

/* Before the others of their kinds in the backend's tables. */
extern const struct kernel cudnn_conv_conv2d;
extern const struct kernel cudnn_conv_conv2d_grad;
extern const struct kernel cudnn_conv_conv_transpose2d;
extern const struct kernel cudnn_conv_conv_transpose2d_grad;

/* device_ops.choose */
void cudnn_conv_choose(struct op *op, struct exec *x);

struct cudnn_device;

/* What a device has of cuDNN; NULL is fine. */
void cudnn_conv_close(struct cudnn_device *d);

#endif
