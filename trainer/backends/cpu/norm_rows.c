/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the inner loops of batch norm (norm_rows.h). */
#include "config.h"
#include "trainer/backends/cpu/norm_rows.h"

#include "trainer/backends/cpu/simd.h"

const struct norm_rows *norm_rows_best(size_t nchannels)
{
#ifdef __x86_64__
    const struct {
        const struct norm_rows *rows;
        bool usable;
    } all[] = {
        {&norm_rows_avx512, simd_isa() >= SIMD_AVX512},
        {&norm_rows_avx2, simd_isa() >= SIMD_AVX2},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t lanes = all[i].rows->lanes;

        if (all[i].usable && (nchannels % lanes == 0 || lanes % nchannels == 0))
            return all[i].rows;
    }
#endif
    return NULL;
}

size_t norm_rows_step(const struct norm_rows *rows, size_t nchannels)
{
    return nchannels > rows->lanes ? nchannels : rows->lanes;
}

size_t norm_rows_width(const struct norm_rows *rows, size_t step)
{
    return step % (4 * rows->lanes) == 0 ? 4 : step % (2 * rows->lanes) == 0 ? 2 : 1;
}
