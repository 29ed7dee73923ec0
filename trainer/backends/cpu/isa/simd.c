/* SPDX-License-Identifier: BSD-3-Clause */
/* Detection of the instruction set, and threads (simd.h). */
#include "config.h"
#include "trainer/backends/cpu/isa/simd.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>
#include <string.h>

enum simd_isa simd_isa(void)
{
#ifdef __x86_64__
    const char *limit = getenv("UNET_ISA");
    bool none = limit && strcmp(limit, "none") == 0, avx2 = limit && strcmp(limit, "avx2") == 0;

    if (!none && !avx2 && __builtin_cpu_supports("avx512f"))
        return SIMD_AVX512;
    if (!none && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return SIMD_AVX2;
#endif
    return SIMD_NONE;
}

size_t simd_threads(void)
{
#ifdef _OPENMP
    return (size_t)omp_get_max_threads();
#else
    return 1;
#endif
}

size_t simd_thread(void)
{
#ifdef _OPENMP
    return (size_t)omp_get_thread_num();
#else
    return 0;
#endif
}

int simd_keep(struct op *op, const void *plan, size_t nbytes, struct err *e)
{
    op->priv = malloc(nbytes);
    if (!op->priv)
        return err_set(e, ERR_INTERNAL, "out of memory");
    memcpy(op->priv, plan, nbytes);
    return 0;
}

void simd_release(struct op *op)
{
    free(op->priv);
}
