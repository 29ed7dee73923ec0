/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of rows of floats to bf16 (float_rows.h). */
#include "config.h"
#include "trainer/backends/cpu/isa/float_rows.h"

#ifdef __x86_64__
#include <immintrin.h>

#define LANES 16
#define ISA __attribute__((target("avx512f,avx512bf16")))
#define HAS_BF16
#include "trainer/backends/cpu/isa/bf16_isa.inc"

ISA static void encode_bf16(enum dtype t, const float *src, uint16_t *dst, size_t n)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        store_numbers(dst + i, load(src + i));
    if (i < n)
        dtype_encode(t, src + i, dst + i, n - i);
}
#endif

float_rows_encode_f *float_rows_encode(void)
{
#ifdef __x86_64__
    if (simd_has_bf16())
        return encode_bf16;
#endif
    return dtype_encode;
}

static bool is_f16(const struct tensor *t)
{
    return t && t->dtype == DTYPE_F16;
}

bool float_rows_supports(const struct op *op)
{
    bool f16 = false;

    for (int i = -1; op_next_in(op, &i);)
        f16 = f16 || is_f16(op->in[i]);
    for (int i = -1; op_next_out(op, &i);)
        f16 = f16 || is_f16(op->out[i]);
    return !f16;
}
