/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions by cuDNN where it is faster than the backend's own kernels, which stay the fallback.
 * The first run of an op takes the choice that is known for its shapes (cudnn_choices.h); if there
 * is none, it times a few of cuDNN's engines and the own kernel, and keeps the fastest. Engines
 * that a CUDA graph cannot contain are skipped. In deterministic mode the first deterministic
 * engine is taken without timing. Replicas take the choices of rank 0 (device_ops.choices).
 *
 * The bias of a forward convolution, and a ReLU behind it, are part of an engine's graph, or our
 * pass behind an engine that has none: both kinds are timed. Moments of a result, the bias of a
 * transposed convolution and a ReLU without a bias are always our pass behind an engine. Ops that
 * compute both gradients, or a norm in a prologue, are left to own kernels. UNET_CUDNN=off: no
 * engines. UNET_CUDNN=only: the first engine, without timing. Where no engine can be used, the own
 * kernel is. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CONV_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CONV_H

#include "trainer/core/kernel.h"

/* Stand in the backend's table before the other kernels of their kinds. */
extern const struct kernel cudnn_conv_conv2d;
extern const struct kernel cudnn_conv_conv2d_grad;
extern const struct kernel cudnn_conv_conv_transpose2d;
extern const struct kernel cudnn_conv_conv_transpose2d_grad;

/* device_ops.choose */
void cudnn_conv_choose(struct op *op, struct exec *x);

struct cudnn_device;

/* Frees the cuDNN handle of a device; d may be NULL. */
void cudnn_conv_close(struct cudnn_device *d);

#endif
