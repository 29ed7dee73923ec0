/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own kernels in wide instructions: for what a library does far below the machine's limits,
 * such as convolutions with 8 and 16 channels. Compiled for several instruction sets and chosen
 * when a graph is prepared. Sums run in a fixed order whatever the number of threads is. */
#ifndef UNETCTL_TRAINER_BACKENDS_SIMD_SIMD_H
#define UNETCTL_TRAINER_BACKENDS_SIMD_SIMD_H

#include "trainer/core/kernel.h"

enum simd_isa { SIMD_NONE, SIMD_AVX2, SIMD_AVX512 };

/* The best of this processor, or less if the environment variable UNET_ISA is "avx2" or "none". */
enum simd_isa simd_isa(void);

/* Of the calling thread's parallel regions; and which of them this is. */
size_t simd_threads(void);
size_t simd_thread(void);

extern const struct kernel simd_batch_norm;
extern const struct kernel simd_batch_norm_grad;
extern const struct kernel simd_batch_norm_infer;
extern const struct kernel simd_batch_norm_relu;
extern const struct kernel simd_batch_norm_relu_grad;
extern const struct kernel simd_batch_norm_relu_infer;
extern const struct kernel simd_conv2d;
extern const struct kernel simd_conv2d_grad_input;
extern const struct kernel simd_conv2d_grad_weights;
extern const struct kernel simd_conv2d_nobias;
extern const struct kernel simd_conv2d_nobias_grad_weights;
extern const struct kernel simd_conv2d_head_grad_input;
extern const struct kernel simd_conv2d_head_grad_weights;
extern const struct kernel simd_conv_transpose2d;
extern const struct kernel simd_conv_transpose2d_grad_input;
extern const struct kernel simd_conv_transpose2d_grad_weights;
extern const struct kernel simd_winograd;
extern const struct kernel simd_winograd_grad_input;
extern const struct kernel simd_winograd_grad_weights;
extern const struct kernel simd_winograd_nobias;
extern const struct kernel simd_winograd_nobias_grad_weights;
extern const struct kernel simd_winograd_concat;
extern const struct kernel simd_winograd_concat_grad_input;
extern const struct kernel simd_winograd_concat_grad_weights;
extern const struct kernel simd_max_pool2d_grad;
extern const struct kernel simd_max_pool2d_grad_add;

extern const struct kernel *const simd_kernels[]; /* NULL-terminated */

extern const struct backend simd_backend;

#endif
