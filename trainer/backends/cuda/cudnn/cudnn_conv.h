/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions by cuDNN. Whether it has an engine for an op is asked when a graph is compiled: an
 * op of 16 bits without one runs in floats between casts (passes/passes.h), and one of floats
 * without one is an error. The first run of an op takes the engine that is known for its shapes
 * (cudnn_choices.c); if there is none, it times a few and keeps the fastest. Engines that a CUDA
 * graph cannot contain are skipped. In deterministic mode the first deterministic engine is taken
 * without timing. Replicas take the choices of rank 0 (device_ops.choices).
 *
 * The bias of a forward convolution, and a ReLU behind it, are part of an engine's graph, or our
 * pass behind an engine that has none: both kinds are timed. The bias of a transposed convolution
 * and a ReLU without a bias are always our pass. UNET_CUDNN=only: the first engine, without
 * timing.
 *
 * To read: this file, cudnn_internal.h (graphs, engines, choices), cudnn_plan.c, cudnn_conv.c. */
#pragma once

#include "trainer/core/kernel.h"

/* device_ops.choose */
void cudnn_conv_choose(struct op *op, struct exec *x);

/* device_ops.choices and .learn */
char *cudnn_choices_encode(void);
int cudnn_choices_decode(const char *text);

struct cudnn_device;

/* Frees the cuDNN handle of a device; d may be NULL. */
void cudnn_conv_close(struct cudnn_device *d);
