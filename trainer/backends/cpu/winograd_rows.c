/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses Winograd's transforms for an image and a processor (winograd_rows.h). */
#include "config.h"
#include "trainer/backends/cpu/winograd_rows.h"

#include "trainer/backends/cpu/simd.h"

const struct winograd_rows *winograd_rows_best(size_t height, size_t width, size_t ns, size_t nd)
{
    const struct winograd_rows *rows = NULL;

#ifdef __x86_64__
    const struct winograd_rows *pairs = &winograd_pairs_avx512;
    enum simd_isa isa = simd_isa();

    rows = isa == SIMD_AVX512 ? winograd_rows_avx512 : isa == SIMD_AVX2 ? winograd_rows_avx2 : NULL;
    if (isa == SIMD_AVX512 && (ns % rows->lanes || nd % rows->lanes))
        return ns % pairs->lanes || nd % pairs->lanes || height % pairs->tile ||
               width % (pairs->group * pairs->tile) ? NULL : pairs;
#endif
    for (int i = 0; rows && i < 2; i++)
        if (ns % rows[i].lanes == 0 && nd % rows[i].lanes == 0 && height % rows[i].tile == 0 &&
            width % rows[i].tile == 0)
            return &rows[i];
    return NULL;
}
