/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "simd": its table of kernels, the instruction set, threads, and what
 * convolutions share. */
#include "src/base.h"
#include "trainer/backends/cpu/simd_backend.h"

#include "trainer/backends/cpu/conv_rows.h"
#include "trainer/backends/cpu/simd.h"
#include "trainer/backends/ref/ref.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Detection of the instruction set, and threads (simd.h). */

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

/* The inner loops of convolutions for this processor, and the sums of chunks (conv_rows.h). */

#define MAX_CHUNKS 64
#define CHUNK_PIXELS 1024 /* pixels of each of several chunks, at least: the sums of a smaller chunk
                           * cost more than they save */
#define BLOCK 1024        /* sums that a thread adds up over all chunks at a time */

const struct conv_rows *conv_rows_best(void)
{
#ifdef __x86_64__
    enum simd_isa isa = simd_isa();

    if (isa == SIMD_AVX512)
        return &conv_rows_avx512;
    if (isa == SIMD_AVX2)
        return &conv_rows_avx2;
#endif
    return NULL;
}

const struct conv_rows *conv_rows_find(size_t lanes)
{
    const struct conv_rows *best = conv_rows_best();

#ifdef __x86_64__
    if (best && best->lanes > lanes)
        best = &conv_rows_avx2;
#endif
    return best && best->lanes == lanes ? best : NULL;
}

size_t conv_rows_chunks(size_t npixels)
{
    size_t n = npixels / CHUNK_PIXELS;

    return n > MAX_CHUNKS ? MAX_CHUNKS : n > 0 ? n : 1;
}

void conv_rows_add(float *sums, size_t n, size_t nchunks)
{
#pragma omp for schedule(static)
    for (size_t from = 0; from < n; from += BLOCK)
        for (size_t i = 1; i < nchunks; i++)
#pragma omp simd
            for (size_t k = from; k < (from + BLOCK < n ? from + BLOCK : n); k++)
                sums[k] += sums[i * n + k];
}

/* The first kernel that supports an op is used; ops without one are left to the reference. */
static const struct kernel *const kernels[] = {
#define ADDRESS(name) &simd_##name,
    SIMD_KERNELS(ADDRESS) NULL,
};

const struct backend simd_backend = {.name = "simd", .kernels = kernels, .fuses = true,
                                     .fallback = &ref_backend};
