/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of the head (head_rows.h). */
#include "config.h"
#include "trainer/backends/cpu/head/head_rows.h"

#define LANES HEAD_ROWS_LANES
#ifdef __x86_64__
#define ISA __attribute__((target("avx2,fma")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/vec_isa.inc"

/* Returns the sums of eight vectors, each in a lane of its own. */
INLINE vec sum_each(vec *v)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        v[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(v[2 * i], v[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(v[0], v[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

/* LANES pixels. */
INLINE vec dot_pixels(const float *x, const float *w, size_t n, float bias)
{
    vec v[LANES];

#pragma GCC unroll 8
    for (size_t p = 0; p < LANES; p++)
        v[p] = load(x + p * n) * load(w);
    for (size_t c = LANES; c < n; c += LANES)
#pragma GCC unroll 8
        for (size_t p = 0; p < LANES; p++)
            v[p] += load(x + p * n + c) * load(w + c);
    return sum_each(v) + bias;
}

ISA void head_rows_dot(const float *x, size_t npixels, const float *w, size_t n, float bias,
                       float *y)
{
    size_t p = 0;

    for (; p + LANES <= npixels; p += LANES)
        store(y + p, dot_pixels(x + p * n, w, n, bias));
    for (; p < npixels; p++) {
        y[p] = bias;
        for (size_t c = 0; c < n; c++)
            y[p] += x[p * n + c] * w[c];
    }
}

ISA void head_rows_spread(const float *dy, size_t npixels, const float *w, size_t n, float *dx)
{
    for (size_t c = 0; c < n; c += LANES) {
        vec weight = load(w + c);

        for (size_t p = 0; p < npixels; p++)
            store(dx + p * n + c, dy[p] * weight);
    }
}

ISA void head_rows_gather(const float *dy, const float *x, size_t npixels, size_t n, float *sum)
{
    for (size_t c = 0; c < n; c += LANES) {
        vec a = {0}, b = {0};
        size_t p = 0;

        for (; p + 2 <= npixels; p += 2) {
            a += dy[p] * load(x + p * n + c);
            b += dy[p + 1] * load(x + (p + 1) * n + c);
        }
        if (p < npixels)
            a += dy[p] * load(x + p * n + c);
        store(sum + c, a + b);
    }
}
