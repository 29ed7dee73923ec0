/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of max pooling (max_pool2d.h). */
#include "config.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#define LANES MAX_POOL2D_LANES
#ifdef __x86_64__
#include <immintrin.h>

#define ISA __attribute__((target("avx2")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/vec_isa.inc"

/* a in the lanes where the mask is set, b in the others. */
#define choose(which, a, b) ((vec)(((mask)(a) & (which)) | ((mask)(b) & ~(which))))

/* a > b ? a : b, so b if one of them is NaN. */
#ifdef __x86_64__
#define larger(a, b) ((vec)_mm256_max_ps((__m256)(a), (__m256)(b)))
#else
#define larger(a, b) choose((a) > (b), a, b)
#endif

ISA void max_pool2d_rows(const float *x, size_t line, size_t width, size_t n, float *y)
{
    for (size_t p = 0; p < width / 2; p++, x += n)
        for (size_t c = 0; c < n; c += LANES, x += LANES, y += LANES) {
            vec a = load(x), b = load(x + n);
            vec d = load(x + line), e = load(x + line + n);

            store(y, larger(larger(a, b), larger(d, e)));
        }
}

/* has_added is a constant once this is inlined; if it is false, `added` is not read. */
INLINE void grad_rows(const float *dy, const float *x, const float *added, bool has_added,
                      size_t width, size_t n, float *dx)
{
    size_t row = width * n;

    for (size_t p = 0, at = 0; p < width / 2; p++, at += n)
        for (size_t c = 0; c < n; c += LANES, dy += LANES, at += LANES) {
            const size_t window[4] = {at, at + n, at + row, at + row + n};
            vec v[4], d = load(dy);

#pragma GCC unroll 4
            for (size_t i = 0; i < 4; i++)
                v[i] = load(x + window[i]);
            mask top = v[0] >= v[1], bottom = v[2] >= v[3];
            mask upper = choose(top, v[0], v[1]) >= choose(bottom, v[2], v[3]);
            const mask largest[4] = {upper & top, upper & ~top, ~upper & bottom, ~upper & ~bottom};
#pragma GCC unroll 4
            for (size_t i = 0; i < 4; i++) {
                vec value = (vec)((mask)d & largest[i]);

                if (has_added)
                    value += load(added + window[i]);
                store(dx + window[i], value);
            }
        }
}

ISA void max_pool2d_rows_grad(const float *dy, const float *x, const float *added, size_t width,
                              size_t n, float *dx)
{
    if (added)
        grad_rows(dy, x, added, true, width, n, dx);
    else
        grad_rows(dy, x, x, false, width, n, dx);
}
