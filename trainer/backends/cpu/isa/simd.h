/* SPDX-License-Identifier: BSD-3-Clause */
/* What wide instructions the processor has, and threads. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_ISA_SIMD_H
#define UNETCTL_TRAINER_BACKENDS_CPU_ISA_SIMD_H

#include "trainer/core/kernel.h"

enum simd_isa { SIMD_NONE, SIMD_AVX2, SIMD_AVX512 };

/* The best of this processor, or less if the environment variable UNET_ISA is "avx2" or "none".
 * For AMX see amx_tiles.h. */
enum simd_isa simd_isa(void);

/* Instructions of AVX-512 for bf16, unless UNET_ISA is "avx512" or less. */
bool simd_has_bf16(void);

/* Of the calling thread's parallel regions; and which of them this is. */
size_t simd_threads(void);
size_t simd_thread(void);

/* kernel.release of a kernel whose op->priv is one block of memory. */
void simd_release(struct op *op);

static inline size_t simd_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t simd_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Ask for n floats that are needed soon, to be read or written. */
static inline void simd_fetch(const float *data, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch(data + i);
    __asm__ volatile(""); /* or the compiler leaves out what has no result */
}

#endif
