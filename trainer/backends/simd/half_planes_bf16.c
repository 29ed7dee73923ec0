/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/half_planes.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#define ISA __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define INLINE ISA __attribute__((always_inline)) static inline
#define LANES HALF_PLANES_LANES
#define BLOCK HALF_PLANES_BLOCK
#define STEP HALF_PLANES_PIXELS
#define ACROSS 3 /* vectors of pixels computed at once */
#define COLUMNS 3 /* of the window */

/* Pixel 4 l + k, 8 channels of it, in quarter l of v[k]. */
INLINE void load_pixels(const uint16_t *src, size_t n, __m512i v[4])
{
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++) {
        const uint16_t *p = src + k * n;

        v[k] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
        v[k] = _mm512_inserti32x4(v[k], _mm_loadu_si128((const __m128i *)(p + 4 * n)), 1);
        v[k] = _mm512_inserti32x4(v[k], _mm_loadu_si128((const __m128i *)(p + 8 * n)), 2);
        v[k] = _mm512_inserti32x4(v[k], _mm_loadu_si128((const __m128i *)(p + 12 * n)), 3);
    }
}

/* Rows of four become columns, in each quarter by itself: its own inverse. */
INLINE void transpose(__m512i v[4])
{
    __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
    __m512i c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);

    v[0] = _mm512_unpacklo_epi64(a, c);
    v[1] = _mm512_unpackhi_epi64(a, c);
    v[2] = _mm512_unpacklo_epi64(b, d);
    v[3] = _mm512_unpackhi_epi64(b, d);
}

INLINE void pair_block(const uint16_t *src, size_t n, uint32_t *planes, size_t stride)
{
    __m512i v[4];

    load_pixels(src, n, v);
    transpose(v);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++)
        _mm512_storeu_si512(planes + k * stride, v[k]);
}

/* The rest of a row, 8 channels of it, with zeros behind it. */
static void copy_rest(const uint16_t *src, size_t n, size_t width, uint16_t last[STEP * BLOCK])
{
    memset(last, 0, STEP * BLOCK * sizeof *last);
    for (size_t i = 0; i < width; i++)
        memcpy(last + i * BLOCK, src + i * n, BLOCK * sizeof *last);
}

ISA static void pairs(const uint16_t *src, size_t n, size_t channels, size_t width,
                           uint32_t *planes, size_t stride)
{
    uint16_t last[STEP * BLOCK];
    size_t x = 0;

    for (; x + LANES <= width; x += LANES)
        for (size_t c = 0; c < channels; c += BLOCK)
            pair_block(src + x * n + c, n, planes + c / 2 * stride + x, stride);
    for (size_t c = 0; x < width && c < channels; c += BLOCK) {
        copy_rest(src + x * n + c, n, width - x, last);
        pair_block(last, BLOCK, planes + c / 2 * stride + x, stride);
    }
}

/* Pixel 8 l + k, 8 channels of it, in quarter l of v[k]. */
INLINE void load_many(const uint16_t *src, size_t n, __m512i v[8])
{
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; k++) {
        const uint16_t *p = src + k * n;

        v[k] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
        v[k] = _mm512_inserti32x4(v[k], _mm_loadu_si128((const __m128i *)(p + 8 * n)), 1);
        v[k] = _mm512_inserti32x4(v[k], _mm_loadu_si128((const __m128i *)(p + 16 * n)), 2);
        v[k] = _mm512_inserti32x4(v[k], _mm_loadu_si128((const __m128i *)(p + 24 * n)), 3);
    }
}

/* Rows of eight become columns, in each quarter by itself. */
INLINE void transpose_many(__m512i v[8])
{
    __m512i a[8], b[8];

#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm512_unpacklo_epi16(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi16(v[i], v[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 2]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 2]);
        b[i + 2] = _mm512_unpacklo_epi32(a[i + 1], a[i + 3]);
        b[i + 3] = _mm512_unpackhi_epi32(a[i + 1], a[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[2 * i] = _mm512_unpacklo_epi64(b[i], b[i + 4]);
        v[2 * i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 4]);
    }
}

INLINE void split_block(const uint16_t *src, size_t n, uint16_t *planes, size_t stride)
{
    __m512i v[8];

    load_many(src, n, v);
    transpose_many(v);
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; k++)
        _mm512_storeu_si512(planes + k * stride, v[k]);
}

ISA static void split(const uint16_t *src, size_t n, size_t channels, size_t width,
                           uint16_t *planes, size_t stride)
{
    uint16_t last[STEP * BLOCK];
    size_t x = 0;

    for (; x + STEP <= width; x += STEP)
        for (size_t c = 0; c < channels; c += BLOCK)
            split_block(src + x * n + c, n, planes + c * stride + x, stride);
    for (size_t c = 0; x < width && c < channels; c += BLOCK) {
        copy_rest(src + x * n + c, n, width - x, last);
        split_block(last, BLOCK, planes + c * stride + x, stride);
    }
}

/* Results of 8 channels, 16 pixels each, to `count` pixels of dst. */
INLINE void store_pixels(const __m512 *sum, size_t step, size_t count, size_t n, uint16_t *dst)
{
    const __m512i interleave = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
        19, 3, 18, 2, 17, 1, 16, 0);
    __m512i v[4];

#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++)
        v[k] = _mm512_permutexvar_epi16(
            interleave,
            (__m512i)_mm512_cvtne2ps_pbh(sum[(2 * k + 1) * step], sum[2 * k * step]));
    transpose(v);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++) {
        const __m128i part[4] = {
            _mm512_castsi512_si128(v[k]), _mm512_extracti32x4_epi32(v[k], 1),
            _mm512_extracti32x4_epi32(v[k], 2), _mm512_extracti32x4_epi32(v[k], 3)};

#pragma GCC unroll 4
        for (size_t l = 0; l < 4; l++)
            if (4 * l + k < count)
                _mm_storeu_si128((__m128i *)(dst + (4 * l + k) * n), part[l]);
    }
}

/* nvectors of pixels, a constant once inlined. */
INLINE void forward_tile(const uint32_t *const *rows, size_t npairs, size_t stride,
                         const uint32_t *weights, const float *bias, size_t nvectors, size_t count,
                         size_t n, uint16_t *dst)
{
    __m512 sum[BLOCK * ACROSS];

#pragma GCC unroll 8
    for (size_t o = 0; o < BLOCK; o++)
#pragma GCC unroll 3
        for (size_t v = 0; v < nvectors; v++)
            sum[o * nvectors + v] = _mm512_set1_ps(bias[o]);
    for (size_t r = 0; r < COLUMNS; r++)
        for (size_t j = 0; j < COLUMNS; j++) {
            const uint32_t *src = rows[r] + j;

            for (size_t p = 0; p < npairs; p++, src += stride, weights += BLOCK) {
                __m512bh s[ACROSS];

#pragma GCC unroll 3
                for (size_t v = 0; v < nvectors; v++)
                    s[v] = (__m512bh)_mm512_loadu_si512(src + v * LANES);
#pragma GCC unroll 8
                for (size_t o = 0; o < BLOCK; o++) {
                    /* clang 17 ends in a fault of its own at _mm512_set1_epi32 */
                    __m512bh w = (__m512bh)_mm512_broadcastd_epi32(_mm_loadu_si32(weights + o));
#pragma GCC unroll 3
                    for (size_t v = 0; v < nvectors; v++)
                        sum[o * nvectors + v] =
                            _mm512_dpbf16_ps(sum[o * nvectors + v], s[v], w);
                }
            }
        }
#pragma GCC unroll 3
    for (size_t v = 0; v < nvectors; v++)
        store_pixels(sum + v, nvectors, count - v * LANES, n, dst + v * LANES * n);
}

ISA static void forward(const uint32_t *const *rows, size_t npairs, size_t stride,
                             const uint32_t *weights, const float *bias, size_t width, size_t n,
                             uint16_t *dst)
{
    size_t x = 0;

    for (; x + 2 * LANES < width; x += ACROSS * LANES) {
        const uint32_t *at[3] = {rows[0] + x, rows[1] + x, rows[2] + x};

        forward_tile(at, npairs, stride, weights, bias, 3, width - x, n, dst + x * n);
    }
    const uint32_t *at[3] = {rows[0] + x, rows[1] + x, rows[2] + x};
    if (x + LANES < width)
        forward_tile(at, npairs, stride, weights, bias, 2, width - x, n, dst + x * n);
    else if (x < width)
        forward_tile(at, npairs, stride, weights, bias, 1, width - x, n, dst + x * n);
}

ISA static void add_weights(const uint16_t *dy, size_t dy_stride, const uint16_t *src,
                             size_t src_stride, size_t width, float *sums)
{
    __m512 sum[HALF_PLANES_SUMS];

#pragma GCC unroll 24
    for (size_t i = 0; i < HALF_PLANES_SUMS; i++)
        sum[i] = _mm512_loadu_ps(sums + i * LANES);
    for (size_t x = 0; x < width; x += STEP) {
        __m512bh d[HALF_PLANES_OUTPUTS];

#pragma GCC unroll 4
        for (size_t o = 0; o < HALF_PLANES_OUTPUTS; o++)
            d[o] = (__m512bh)_mm512_loadu_si512(dy + o * dy_stride + x);
#pragma GCC unroll 6
        for (size_t i = 0; i < HALF_PLANES_INPUTS * COLUMNS; i++) {
            const uint16_t *s = src + i / COLUMNS * src_stride + x + i % COLUMNS;
            __m512bh v = (__m512bh)_mm512_loadu_si512(s);

#pragma GCC unroll 4
            for (size_t o = 0; o < HALF_PLANES_OUTPUTS; o++) {
                __m512 *to = &sum[o * HALF_PLANES_INPUTS * COLUMNS + i];

                *to = _mm512_dpbf16_ps(*to, v, d[o]);
            }
        }
    }
#pragma GCC unroll 24
    for (size_t i = 0; i < HALF_PLANES_SUMS; i++)
        _mm512_storeu_ps(sums + i * LANES, sum[i]);
}

ISA static void add_sum(const uint16_t *planes, size_t stride, size_t width, float *totals)
{
    const __m512bh one = (__m512bh)_mm512_set1_epi16(0x3f80);

    __m512 sum[BLOCK];

#pragma GCC unroll 8
    for (size_t c = 0; c < BLOCK; c++)
        sum[c] = _mm512_setzero_ps();
    for (size_t x = 0; x < width; x += STEP)
#pragma GCC unroll 8
        for (size_t c = 0; c < BLOCK; c++) {
            __m512bh v = (__m512bh)_mm512_loadu_si512(planes + c * stride + x);

            sum[c] = _mm512_dpbf16_ps(sum[c], v, one);
        }
    for (size_t c = 0; c < BLOCK; c++)
        totals[c] += _mm512_reduce_add_ps(sum[c]);
}

ISA static void reduce(const float *sums, size_t nvectors, float *totals)
{
    for (size_t i = 0; i < nvectors; i++)
        totals[i] = _mm512_reduce_add_ps(_mm512_loadu_ps(sums + i * LANES));
}

const struct half_planes half_planes_bf16 = {pairs, split, forward, add_weights, add_sum, reduce};
#endif
