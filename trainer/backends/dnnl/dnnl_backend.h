/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on oneDNN 2.x for the CPU: convolutions. Everything else is memory traffic, which the
 * reference kernels do as fast. */
#ifndef UNETCTL_TRAINER_BACKENDS_DNNL_DNNL_BACKEND_H
#define UNETCTL_TRAINER_BACKENDS_DNNL_DNNL_BACKEND_H

#include "trainer/core/kernel.h"

extern const struct kernel dnnl_conv2d;
extern const struct kernel dnnl_conv2d_grad_input;
extern const struct kernel dnnl_conv2d_grad_weights;
extern const struct kernel dnnl_conv_transpose2d;
extern const struct kernel dnnl_conv_transpose2d_grad_input;
extern const struct kernel dnnl_conv_transpose2d_grad_weights;

extern const struct backend dnnl_backend;

#endif
