/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of this backend share, and their list. */
#pragma once

#include "trainer/core/kernel.h"

/* The instruction set of the processor, and the threads of OpenMP. */

enum simd_isa { SIMD_NONE, SIMD_AVX2, SIMD_AVX512 };

/* Returns the best instruction set of this processor, or less if the environment variable UNET_ISA
 * is "avx2" or "none". */
enum simd_isa simd_isa(void);

/* Return the number of threads of the caller's parallel regions, and the calling thread's
 * number. */
size_t simd_threads(void);
size_t simd_thread(void);

/* Copies a plan of nbytes to op->priv; simd_release(), a kernel's release, frees it. simd_keep()
 * returns -1 if there is no memory. */
int simd_keep(struct op *op, const void *plan, size_t nbytes, struct err *e);
void simd_release(struct op *op);

static inline size_t simd_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t simd_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Lays out a workspace by the same calls of simd_take() twice: in prepare with base NULL, which
 * gives its size, and in run, which gives the pointers. */
struct simd_workspace {
    char *base;
    size_t size; /* bytes taken */
};

/* Takes n elements of `size` bytes, which begin with a cache line. Returns their address, or NULL
 * if w->base is NULL. */
static inline void *simd_take(struct simd_workspace *w, size_t n, size_t size)
{
    void *at = w->base ? w->base + w->size : NULL;

    w->size += simd_round_up(n * size, 64);
    return at;
}

/* Prefetches n floats that will be read or written soon. */
static inline void simd_fetch(const float *data, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch(data + i);
    __asm__ volatile(""); /* keeps the compiler from removing a loop without a result */
}

/* Kernels of direct convolutions and of transposed ones. */

extern const struct kernel simd_dot_conv2d;
extern const struct kernel simd_conv_transpose2d_grad_weights;
extern const struct kernel simd_direct_conv2d, simd_direct_conv2d_relu;
extern const struct kernel simd_direct_conv2d_grad_input, simd_direct_conv2d_grad_weights;
extern const struct kernel simd_direct_conv_transpose2d, simd_direct_conv_transpose2d_grad_input;
extern const struct kernel simd_direct_conv_transpose2d_grad_weights;

/* Kernels of 3x3 convolutions by Winograd's transforms (winograd.c). */

extern const struct kernel simd_winograd, simd_winograd_relu, simd_winograd_grad;
extern const struct kernel simd_winograd_grad_input, simd_winograd_grad_weights;

/* Kernels of batch norm. */

extern const struct kernel simd_batch_norm, simd_batch_norm_grad, simd_batch_norm_infer;
extern const struct kernel simd_batch_norm_relu, simd_batch_norm_relu_grad;

/* Kernels of pooling. */

extern const struct kernel simd_max_pool2d, simd_max_pool2d_grad, simd_max_pool2d_grad_add;
