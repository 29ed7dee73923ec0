/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms for 8 channels, or 24 and so on: a vector holds two neighbouring tiles with 8
 * channels each. In the products a shuffle spreads a channel over its half of the vector. */
#include "config.h"

#ifdef __x86_64__
#include <immintrin.h>

#define LANES 16
#define ISA __attribute__((target("avx512f")))
#include "trainer/backends/simd/winograd_transforms.inc"

#define HALF 8
#define TILE 4
#define SIDE (TILE + 2)
#define PLACES (SIDE * SIDE)
#define GROUPS 8 /* whose products are summed at the same time */

static const float nothing[HALF];

INLINE vec load_pair(const float *low, const float *high)
{
    __m512d v = _mm512_castpd256_pd512(_mm256_loadu_pd((const double *)low));

    return (vec)_mm512_insertf64x4(v, _mm256_loadu_pd((const double *)high), 1);
}

INLINE void store_pair(float *low, float *high, vec v)
{
    _mm256_storeu_pd((double *)low, _mm512_castpd512_pd256((__m512d)v));
    _mm256_storeu_pd((double *)high, _mm512_extractf64x4_pd((__m512d)v, 1));
}

/* Channel k of both halves, each over its half. */
INLINE vec spread_channel(vec v, int k)
{
    __m512i index = _mm512_setr_epi32(k, k, k, k, k, k, k, k, 8 + k, 8 + k, 8 + k, 8 + k, 8 + k, 8 + k,
                                      8 + k, 8 + k);

    return (vec)_mm512_permutexvar_ps(index, (__m512)v);
}

ISA static void source(const float *const *src, size_t width, size_t n, size_t all, size_t place,
                       float *d)
{
    for (size_t x = 0; x < width; x += 2 * TILE, d += 2 * (all - n))
        for (size_t c = 0; c < n; c += HALF, d += LANES) {
            vec column[PLACES], r[SIDE];

#pragma GCC unroll 6
            for (size_t j = 0; j < SIDE; j++) {
                vec v[SIDE];
#pragma GCC unroll 6
                for (size_t i = 0; i < SIDE; i++) {
                    const float *low = src[i] + (x + j) * n + c - n, *high = low + TILE * n;

                    v[i] = load_pair(j == 0 && x == 0 ? nothing : low,
                                     j == SIDE - 1 && x + 2 * TILE == width ? nothing : high);
                }
                source4(v, 1, column + j * SIDE, 1);
            }
#pragma GCC unroll 6
            for (size_t i = 0; i < SIDE; i++)
#pragma GCC unroll 4
                for (size_t j = 0; j < 2 * TILE; j += 2)
                    __builtin_prefetch(src[i] + (x + 4 * TILE + j) * n + c);
#pragma GCC unroll 6
            for (size_t i = 0; i < SIDE; i++) {
                source4(column + i, SIDE, r, 1);
                store_places(r, SIDE, place, d + i * SIDE * place);
            }
        }
}

ISA static void result(const float *m, size_t place, size_t width, size_t n, size_t all,
                       const float *bias, float *const *dst)
{
    for (size_t x = 0; x < width; x += 2 * TILE, m += 2 * (all - n))
        for (size_t c = 0; c < n; c += HALF, m += LANES) {
            vec v[PLACES], r[TILE * TILE], b = load_pair(bias + c, bias + c);

            load_places(m, PLACES, place, v);
            result4_square(v, r);
#pragma GCC unroll 16
            for (size_t k = 0; k < TILE * TILE; k++) {
                float *to = dst[k / TILE] + (x + k % TILE) * n + c;

                store_pair(to, to + TILE * n, r[k] + b);
            }
        }
}

ISA static void window(const float *w, size_t step, size_t turned, size_t place, float *g)
{
    vec v[WINDOW * WINDOW], r[PLACES];
    float tap[LANES];

    for (size_t k = 0; k < (size_t)WINDOW * WINDOW; k++) {
        for (size_t l = 0; l < LANES; l++)
            tap[l] = w[l % HALF * step + (turned ? WINDOW * WINDOW - 1 - k : k)];
        v[k] = load(tap);
    }
    window4_square(v, r);
    store_places(r, PLACES, place, g);
}

ISA static void spread(const float *const *dy, size_t width, size_t n, size_t place, float *y)
{
    for (size_t x = 0; x < width; x += 2 * TILE)
        for (size_t c = 0; c < n; c += HALF, y += LANES) {
            vec v[TILE * TILE], r[PLACES];

#pragma GCC unroll 16
            for (size_t k = 0; k < TILE * TILE; k++) {
                const float *from = dy[k / TILE] + (x + k % TILE) * n + c;

                v[k] = load_pair(from, from + TILE * n);
            }
            spread4_square(v, r);
            store_places(r, PLACES, place, y);
        }
}

ISA static void gather(const float *u, size_t place, size_t step, float *dw)
{
    vec v[PLACES], r[WINDOW * WINDOW];
    float tap[LANES];

    load_places(u, PLACES, place, v);
    gather4_square(v, r);
    for (size_t k = 0; k < (size_t)WINDOW * WINDOW; k++) {
        store(tap, r[k]);
        for (size_t l = 0; l < HALF; l++)
            dw[l * step + k] = tap[l] + tap[HALF + l];
    }
}

/* n groups, a constant once inlined, and one block of results. */
INLINE void forward_groups(const float *d, const float *weights, size_t ns, size_t nd, size_t n,
                           float *m)
{
    vec sum[GROUPS];

#pragma GCC unroll 8
    for (size_t g = 0; g < n; g++)
        sum[g] = (vec){0};
    for (size_t s = 0; s < ns; s += HALF) {
        vec v[GROUPS];

#pragma GCC unroll 8
        for (size_t g = 0; g < n; g++)
            v[g] = load(d + 2 * (g * ns + s));
#pragma GCC unroll 8
        for (int k = 0; k < HALF; k++) {
            vec w = load(weights + (s + (size_t)k) * LANES);
#pragma GCC unroll 8
            for (size_t g = 0; g < n; g++)
                sum[g] += spread_channel(v[g], k) * w;
        }
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
                vec v = load(d + 2 * (g * ns + s)), dy = load(y + 2 * (g * nd + at));
#pragma GCC unroll 8
                for (int k = 0; k < HALF; k++)
                    sum[k] += spread_channel(v, k) * dy;
            }
#pragma GCC unroll 8
            for (int k = 0; k < HALF; k++)
                store(u + k * LANES, sum[k]);
        }
}

const struct winograd_rows winograd_pairs_avx512 = {HALF, 2, TILE, SIDE, source, result, window,
                                                    spread, gather, forward, grad_weights};
#endif
