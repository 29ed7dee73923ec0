/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms if the numbers of source and result channels are multiples of 8, but not
 * both of 16. A vector holds two neighbouring tiles with 8 channels each, interleaved: channel 0 of
 * both tiles, channel 1 of both, and so on. The products need one channel's two values broadcast to
 * all lanes, which is a load in this order. Shuffles instead would compete with multiplications on
 * processors where one port does both. */
#include "src/base.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdbool.h>

#define LANES 16
#define ISA __attribute__((target("avx512f")))
#include "trainer/backends/cpu/winograd_transforms.inc"

#define HALF 8
#define TILE 4
#define SIDE (TILE + 2)
#define COLUMNS 5 /* columns of two pixels each that two tiles read */
#define PLACES (SIDE * SIDE)
typedef double unaligned_double __attribute__((aligned(4), may_alias));

#define GROUPS 8 /* groups of tiles whose products are summed at the same time */

/* Loads 8 channels of two adjacent pixels, which are n floats apart. */
INLINE vec load_pixels(const float *low, size_t n)
{
    __m512d v;

    if (n == HALF)
        return load(low);
    v = _mm512_castpd256_pd512(_mm256_loadu_pd((const double *)low));
    return (vec)_mm512_insertf64x4(v, _mm256_loadu_pd((const double *)(low + n)), 1);
}

INLINE void store_pixels(float *low, size_t n, vec v)
{
    if (n == HALF) {
        store(low, v);
        return;
    }
    _mm256_storeu_pd((double *)low, _mm512_castpd512_pd256((__m512d)v));
    _mm256_storeu_pd((double *)(low + n), _mm512_extractf64x4_pd((__m512d)v, 1));
}

/* Returns two tiles of one pixel each: the first pixels of a and b, or with k = 1 the second
 * ones. */
INLINE vec tiles_of(vec a, vec b, size_t k)
{
    __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512i second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                       31);

    return (vec)_mm512_permutex2var_ps((__m512)a, k ? second : first, (__m512)b);
}

/* The inverse of tiles_of(): two pixels of the first tile, or with k = 1 of the second. */
INLINE vec pixels_of(vec a, vec b, size_t k)
{
    __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i second = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);

    return (vec)_mm512_permutex2var_ps((__m512)a, k ? second : first, (__m512)b);
}

/* Broadcasts the values of one channel for two tiles. */
INLINE vec load_channel(const float *p)
{
    return (vec)_mm512_set1_pd(*(const unaligned_double *)p);
}

/* Transforms one dimension of two neighbouring pixels of each row, from value `at` of the rows
 * on. */
INLINE void source_columns(const float *const *src, ptrdiff_t at, size_t n, vec *r)
{
    vec v[SIDE];

#pragma GCC unroll 6
    for (size_t i = 0; i < SIDE; i++)
        v[i] = load_pixels(src[i] + at, n);
    source4(v, 1, r, 1);
}

/* Like source_columns() at the edge of the image, where only the first or only the second pixel
 * exists; the other is 0. */
INLINE void source_edge(const float *const *src, size_t at, bool second, vec *r)
{
    vec v[SIDE];

#pragma GCC unroll 6
    for (size_t i = 0; i < SIDE; i++)
        v[i] = (vec)_mm512_maskz_loadu_ps(second ? 0xff00 : 0xff,
                                          src[i] + at - (second ? HALF : 0));
    source4(v, 1, r, 1);
}

/* n is a constant after inlining if it is HALF. Neighbouring pairs of tiles share two columns,
 * which are transformed once. */
INLINE void source_rows(const float *const *src, size_t width, size_t n,
                        unsigned beside, size_t place, float *dst)
{
    const struct places places = places_of(SIDE, place);
    size_t known = beside & WINOGRAD_RIGHT ? width + 1 : width;

    for (size_t c = 0; c < n; c += HALF, dst += LANES) {
        vec column[COLUMNS * SIDE], v[SIDE], r[SIDE];
        float *d = dst;

        if (beside & WINOGRAD_LEFT)
            source_columns(src, (ptrdiff_t)c - (ptrdiff_t)n, n, column);
        else
            source_edge(src, c, true, column);
        for (size_t x = 0; x < width; x += 2 * TILE, d += 2 * n) {
#pragma GCC unroll 3
            for (size_t k = 1; k + 1 < COLUMNS; k++)
                source_columns(src, (ptrdiff_t)((x + 2 * k - 1) * n + c), n, column + k * SIDE);
            if (x + 2 * TILE < known)
                source_columns(src, (ptrdiff_t)((x + 2 * TILE - 1) * n + c), n,
                               column + (COLUMNS - 1) * SIDE);
            else
                source_edge(src, (x + 2 * TILE - 1) * n + c, false, column + (COLUMNS - 1) * SIDE);
#pragma GCC unroll 6
            for (size_t i = 0; i < SIDE; i++)
#pragma GCC unroll 4
                for (size_t j = 0; j < 2 * TILE; j += 2)
                    __builtin_prefetch(src[i] + (x + 4 * TILE + j) * n + c);
            float *row = opaque(d);

#pragma GCC unroll 6
            for (size_t i = 0; i < SIDE; i++, row += places.row.one) {
#pragma GCC unroll 6
                for (size_t j = 0; j < SIDE; j++)
                    v[j] = tiles_of(column[j / 2 * SIDE + i], column[(j / 2 + 2) * SIDE + i],
                                    j % 2);
                source4(v, 1, r, 1);
                store_row(&places, r, row);
            }
#pragma GCC unroll 6
            for (size_t i = 0; i < SIDE; i++)
                column[i] = column[(COLUMNS - 1) * SIDE + i];
        }
    }
}

ISA static void source(const float *const *src, size_t width, size_t n, unsigned beside,
                       size_t place, float *d)
{
    if (n == HALF)
        source_rows(src, width, HALF, beside, place, d);
    else
        source_rows(src, width, n, beside, place, d);
}

/* n is a constant as above, and relu is always one. */
INLINE void result_rows(const float *m, size_t place, size_t width, size_t n,
                        const float *bias, bool relu, float *const *dst)
{
    const struct places places = places_of(SIDE, place);

    for (size_t c = 0; c < n; c += HALF, m += LANES) {
        vec b = (vec)_mm512_broadcast_f64x4(_mm256_loadu_pd((const double *)(bias + c)));
        const float *from = m;

        for (size_t x = 0; x < width; x += 2 * TILE, from += 2 * n) {
            vec v[PLACES], r[TILE * TILE];

            load_places(&places, from, v);
            result4_square(v, r);
#pragma GCC unroll 8
            for (size_t k = 0; k < TILE * TILE; k += 2) {
                float *to = dst[k / TILE] + (x + k % TILE) * n + c;

                vec low = pixels_of(r[k], r[k + 1], 0) + b, high = pixels_of(r[k], r[k + 1], 1) + b;

                store_pixels(to, n, relu ? where_positive(low, low) : low);
                store_pixels(to + TILE * n, n, relu ? where_positive(high, high) : high);
            }
        }
    }
}

ISA static void result(const float *m, size_t place, size_t width, size_t n,
                       const float *bias, bool relu, float *const *dst)
{
    if (n == HALF && relu)
        result_rows(m, place, width, HALF, bias, true, dst);
    else if (n == HALF)
        result_rows(m, place, width, HALF, bias, false, dst);
    else if (relu)
        result_rows(m, place, width, n, bias, true, dst);
    else
        result_rows(m, place, width, n, bias, false, dst);
}

ISA static void window(const float *w, size_t step, size_t turned, size_t place, float *g)
{
    const struct places places = places_of(SIDE, place);
    vec v[WINDOW * WINDOW], r[PLACES];
    float tap[LANES];

    for (size_t k = 0; k < (size_t)WINDOW * WINDOW; k++) {
        for (size_t l = 0; l < LANES; l++)
            tap[l] = w[l / 2 * step + (turned ? WINDOW * WINDOW - 1 - k : k)];
        v[k] = load(tap);
    }
    window4_square(v, r);
    store_places(&places, r, g);
}

INLINE void spread_rows(const float *const *dy, size_t width, size_t n, size_t place,
                        float *dst)
{
    const struct places places = places_of(SIDE, place);

    for (size_t x = 0; x < width; x += 2 * TILE, dst += 2 * n)
        for (size_t c = 0; c < n; c += HALF) {
            vec v[TILE * TILE], r[PLACES];

#pragma GCC unroll 8
            for (size_t k = 0; k < TILE * TILE; k += 2) {
                const float *from = dy[k / TILE] + (x + k % TILE) * n + c;
                vec low = load_pixels(from, n), high = load_pixels(from + TILE * n, n);

                v[k] = tiles_of(low, high, 0), v[k + 1] = tiles_of(low, high, 1);
            }
            spread4_square(v, r);
            store_places(&places, r, dst + 2 * c);
        }
}

ISA static void spread(const float *const *dy, size_t width, size_t n, size_t place,
                       float *y)
{
    if (n == HALF)
        spread_rows(dy, width, HALF, place, y);
    else
        spread_rows(dy, width, n, place, y);
}

ISA static void gather(const float *u, size_t place, size_t step, size_t turned, float *dw)
{
    const struct places places = places_of(SIDE, place);
    vec v[PLACES], r[WINDOW * WINDOW];
    float tap[LANES];

    load_places(&places, u, v);
    gather4_square(v, r);
    for (size_t k = 0; k < (size_t)WINDOW * WINDOW; k++) {
        store(tap, r[k]);
        for (size_t l = 0; l < HALF; l++)
            dw[l * step + (turned ? WINDOW * WINDOW - 1 - k : k)] = tap[2 * l] + tap[2 * l + 1];
    }
}

/* Computes one block of results of n groups; n is a constant after inlining. */
INLINE void forward_groups(const float *d, const float *weights, size_t ns, size_t nd, size_t n,
                           float *m)
{
    vec sum[GROUPS];

#pragma GCC unroll 8
    for (size_t g = 0; g < n; g++)
        sum[g] = (vec){0};
    for (size_t s = 0; s < ns; s += HALF)
#pragma GCC unroll 8
        for (size_t k = s; k < s + HALF; k++) {
            vec w = load(weights + k * LANES);
#pragma GCC unroll 8
            for (size_t g = 0; g < n; g++)
                sum[g] += load_channel(d + 2 * (g * ns + k)) * w;
        }
#pragma GCC unroll 8
    for (size_t g = 0; g < n; g++)
        store(m + 2 * g * nd, sum[g]);
}

ISA static void forward(const float *d, const float *weights, size_t ns, size_t nd, size_t ngroups,
                        float *m)
{
    for (size_t at = 0; at < nd; at += HALF, weights += ns * LANES) {
        size_t g = 0;

        for (; g + GROUPS <= ngroups; g += GROUPS)
            forward_groups(d + 2 * g * ns, weights, ns, nd, GROUPS, m + 2 * (g * nd + at));
        for (; g < ngroups; g++)
            forward_groups(d + 2 * g * ns, weights, ns, nd, 1, m + 2 * (g * nd + at));
    }
}

ISA static void grad_weights(const float *d, const float *y, size_t ns, size_t nd, size_t ngroups,
                             float *u)
{
    for (size_t at = 0; at < nd; at += HALF)
        for (size_t s = 0; s < ns; s += HALF, u += HALF * LANES) {
            vec sum[HALF];

#pragma GCC unroll 8
            for (int k = 0; k < HALF; k++)
                sum[k] = load(u + k * LANES);
            for (size_t g = 0; g < ngroups; g++) {
                vec dy = load(y + 2 * (g * nd + at));
#pragma GCC unroll 8
                for (size_t k = 0; k < HALF; k++)
                    sum[k] += load_channel(d + 2 * (g * ns + s + k)) * dy;
            }
#pragma GCC unroll 8
            for (int k = 0; k < HALF; k++)
                store(u + k * LANES, sum[k]);
        }
}

const struct winograd_rows winograd_pairs_avx512 = {HALF, 2, TILE, SIDE, source, result, window,
                                                    spread, gather, forward, grad_weights};
#endif
