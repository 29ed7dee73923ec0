/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own kernels in wide instructions: for what a library does far below the machine's limits,
 * such as convolutions with 8 and 16 channels. Compiled for several instruction sets and chosen
 * when a graph is prepared. Sums run in a fixed order whatever the number of threads is. */
#ifndef UNETCTL_TRAINER_BACKENDS_SIMD_SIMD_H
#define UNETCTL_TRAINER_BACKENDS_SIMD_SIMD_H

#include "trainer/core/kernel.h"

enum simd_isa { SIMD_NONE, SIMD_AVX2, SIMD_AVX512 };

/* The best of this processor, or less if the environment variable UNET_ISA is "avx2" or "none". Tiles
 * have a word of their own (amx_tiles.h). */
enum simd_isa simd_isa(void);

/* Instructions of AVX-512 for bf16, unless UNET_ISA is "avx512" or less. */
bool simd_has_bf16(void);

/* Of the calling thread's parallel regions; and which of them this is. */
size_t simd_threads(void);
size_t simd_thread(void);

/* Ask for n floats that are needed soon, to be read or written. */
static inline void simd_fetch(const float *data, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch(data + i);
    __asm__ volatile(""); /* or the compiler leaves out what has no result */
}

extern const struct kernel simd_batch_norm;
extern const struct kernel simd_batch_norm_grad;
extern const struct kernel simd_batch_norm_infer;
extern const struct kernel simd_batch_norm_coef;
extern const struct kernel simd_conv2d;
extern const struct kernel simd_conv2d_relu;
extern const struct kernel simd_conv2d_grad_input;
extern const struct kernel simd_conv2d_grad_weights;
extern const struct kernel simd_head, simd_head_grad_input, simd_head_grad_weights;
extern const struct kernel simd_head_norm, simd_head_norm_grad;
extern const struct kernel simd_conv_transpose2d;
extern const struct kernel simd_conv_transpose2d_grad_input;
extern const struct kernel simd_conv_transpose2d_grad_weights;
extern const struct kernel simd_conv_transpose2d_grad;
extern const struct kernel simd_direct_conv2d, simd_direct_conv2d_grad_input;
extern const struct kernel simd_direct_conv2d_grad_weights;
extern const struct kernel simd_direct_conv_transpose2d, simd_direct_conv_transpose2d_grad_input;
extern const struct kernel simd_direct_conv_transpose2d_grad_weights;
extern const struct kernel simd_winograd;
extern const struct kernel simd_winograd_relu;
extern const struct kernel simd_winograd_pooled, simd_winograd_head;
extern const struct kernel simd_winograd_front_conv2d, simd_winograd_front_transpose;
extern const struct kernel simd_winograd_grad_input;
extern const struct kernel simd_winograd_grad_weights;
extern const struct kernel simd_winograd_concat;
extern const struct kernel simd_winograd_concat_relu;
extern const struct kernel simd_winograd_concat_grad_input;
extern const struct kernel simd_winograd_concat_grad_weights;
extern const struct kernel simd_winograd_both;
extern const struct kernel simd_winograd_both_concat, simd_winograd_split;
extern const struct kernel simd_winograd_both_norm;
extern const struct kernel simd_winograd_norm;
extern const struct kernel simd_winograd_norm_grad;
extern const struct kernel simd_max_pool2d_norm, simd_max_pool2d_norm_grad_add;
extern const struct kernel simd_max_pool2d;
extern const struct kernel simd_max_pool2d_grad;
extern const struct kernel simd_max_pool2d_grad_add;
extern const struct kernel simd_relu_max_pool2d;
extern const struct kernel simd_relu_max_pool2d_grad;

/* Of activations in bf16; amx: by tiles. */
extern const struct kernel simd_amx_conv;
extern const struct kernel simd_amx_conv_concat;
extern const struct kernel simd_amx_conv_grad_input;
extern const struct kernel simd_amx_conv_concat_grad_input;
extern const struct kernel simd_amx_conv_grad_weights;
extern const struct kernel simd_amx_conv_concat_grad_weights;
extern const struct kernel simd_amx_both;
extern const struct kernel simd_amx_both_concat;
extern const struct kernel simd_amx_both_norm;
extern const struct kernel simd_amx_norm;
extern const struct kernel simd_amx_transpose;
extern const struct kernel simd_amx_transpose_grad_input;
extern const struct kernel simd_amx_transpose_grad_weights;
extern const struct kernel simd_half_relu;
extern const struct kernel simd_half_relu_grad;
extern const struct kernel simd_half_add;
extern const struct kernel simd_half_max_pool2d;
extern const struct kernel simd_half_max_pool2d_grad;
extern const struct kernel simd_half_max_pool2d_grad_add;
extern const struct kernel simd_half_global_avg_pool;
extern const struct kernel simd_half_global_avg_pool_grad;

extern const struct kernel *const simd_kernels[]; /* NULL-terminated */

extern const struct backend simd_backend;

#endif
