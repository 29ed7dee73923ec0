/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/winograd_rows.h"

#include "trainer/backends/simd/simd.h"

const struct winograd_rows *winograd_rows_best(size_t height, size_t width)
{
    const struct winograd_rows *rows = NULL;

#ifdef __x86_64__
    enum simd_isa isa = simd_isa();

    rows = isa == SIMD_AVX512 ? winograd_rows_avx512 : isa == SIMD_AVX2 ? winograd_rows_avx2 : NULL;
#endif
    for (int i = 0; rows && i < 2; i++)
        if (height % rows[i].tile == 0 && width % rows[i].tile == 0)
            return &rows[i];
    return NULL;
}
