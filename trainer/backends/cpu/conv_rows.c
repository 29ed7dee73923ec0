/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the inner loops of convolutions, and adds up the sums of chunks (conv_rows.h). */
#include "config.h"
#include "trainer/backends/cpu/conv_rows.h"

#include "trainer/backends/cpu/simd.h"

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
