/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the backend "simd". The first one that supports an op is used; ops without one are
 * left to the reference. */
#include "config.h"
#include "trainer/backends/cpu/simd_backend.h"

#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"
#include "trainer/backends/ref/ref.h"

const struct kernel *const simd_kernels[] = {
    &simd_batch_norm,
    &simd_batch_norm_grad,
    &simd_batch_norm_relu,
    &simd_batch_norm_relu_grad,
    &simd_batch_norm_infer,
    &simd_winograd,
    &simd_winograd_relu,
    &simd_winograd_grad,
    &simd_winograd_grad_input,
    &simd_winograd_grad_weights,
    &simd_conv2d,
    &simd_conv2d_relu,
    &simd_conv2d_grad_input,
    &simd_conv2d_grad_weights,
    &simd_conv_transpose2d,
    &simd_conv_transpose2d_grad_input,
    &simd_conv_transpose2d_grad_weights,
    &simd_dot_conv2d,
    &simd_direct_conv2d,
    &simd_direct_conv2d_grad_input,
    &simd_direct_conv2d_grad_weights,
    &simd_direct_conv_transpose2d,
    &simd_direct_conv_transpose2d_grad_input,
    &simd_direct_conv_transpose2d_grad_weights,
    &simd_max_pool2d,
    &simd_max_pool2d_grad,
    &simd_max_pool2d_grad_add,
    NULL,
};

const struct backend simd_backend = {.name = "simd", .kernels = simd_kernels, .fuses = true,
                                     .fallback = &ref_backend};
