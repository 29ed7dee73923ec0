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

    w->size += round_up(n * size, 64);
    return at;
}

/* Prefetches n floats that will be read or written soon. */
static inline void simd_fetch(const float *data, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch(data + i);
    __asm__ volatile(""); /* keeps the compiler from removing a loop without a result */
}

/* The kernels, the faster of a kind first. */
#define SIMD_KERNELS(KERNEL)                                                          \
    KERNEL(batch_norm) KERNEL(batch_norm_grad) KERNEL(batch_norm_relu)                \
    KERNEL(batch_norm_relu_grad) KERNEL(batch_norm_infer)                             \
    KERNEL(winograd) KERNEL(winograd_relu) KERNEL(winograd_grad)                      \
    KERNEL(winograd_grad_input) KERNEL(winograd_grad_weights)                         \
    KERNEL(dot_conv2d)                                                                \
    KERNEL(direct_conv2d) KERNEL(direct_conv2d_relu) KERNEL(direct_conv2d_grad_input) \
    KERNEL(direct_conv2d_grad_weights) KERNEL(direct_conv_transpose2d)                \
    KERNEL(direct_conv_transpose2d_grad_input) KERNEL(direct_conv_transpose2d_grad_weights)

#define DECLARE(name) extern const struct kernel simd_##name;
SIMD_KERNELS(DECLARE)
#undef DECLARE
