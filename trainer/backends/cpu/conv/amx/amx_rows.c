/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading, writing, interleaving and transposing rows of bf16 for AMX tiles (amx_rows.h). */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_rows.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/ref/vector.h"

#define BLOCK AMX_ROWS_CHANNELS

bool amx_rows_supports(const struct tensor *const *tensors)
{
    for (size_t k = 0; k < CONV_CONCAT && tensors[k]; k++)
        if (tensors[k]->dtype != DTYPE_BF16)
            return false;
    return conv_operands_common_channels(tensors) % BLOCK == 0;
}

/* Copies pixels of n channels to places that are `step` values apart. */
static void spread(const uint16_t *src, size_t n, size_t width, uint16_t *dst, size_t step)
{
    if (n == step) {
        memcpy(dst, src, width * n * sizeof *dst);
        return;
    }
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < n; c += BLOCK)
            memcpy(dst + x * step + c, src + x * n + c, BLOCK * sizeof *dst);
}

void amx_rows_read(const struct tensor *const *tensors, const struct batch_norm_map *const *norm,
                   size_t image, size_t first, size_t n, size_t border, size_t pitch, uint16_t *dst)
{
    size_t height = (size_t)tensors[0]->shape.dim[DIM_H],
           width = (size_t)tensors[0]->shape.dim[DIM_W];
    size_t channels = conv_operands_channels(tensors);

    for (size_t i = first; i < first + n; i++, dst += pitch * channels) {
        size_t line = (image * height + i - border) * width, at = border * channels;

        if (i < border || i >= height + border) {
            memset(dst, 0, pitch * channels * sizeof *dst);
            continue;
        }
        memset(dst, 0, border * channels * sizeof *dst);
        for (size_t k = 0; k < CONV_CONCAT && tensors[k]; k++) {
            size_t own = tensor_channels(tensors[k]);

            if (norm && norm[k])
                batch_norm_apply(norm[k], tensors[k]->half + line * own, width * own, dst + at);
            else
                spread(tensors[k]->half + line * own, own, width, dst + at, channels);
            at += own;
        }
        memset(dst + (border + width) * channels, 0,
               (pitch - border - width) * channels * sizeof *dst);
    }
}

void amx_rows_write(const struct tensor *const *tensors, size_t image, size_t y, const float *row,
                    float *copy, float_rows_encode_f *encode)
{
    size_t width = (size_t)tensors[0]->shape.dim[DIM_W], channels = conv_operands_channels(tensors);
    size_t line = (image * (size_t)tensors[0]->shape.dim[DIM_H] + y) * width;

    for (size_t k = 0; k < CONV_CONCAT && tensors[k]; k++) {
        size_t n = tensor_channels(tensors[k]);

        for (size_t x = 0; n < channels && x < width; x++)
            for (size_t c = 0; c < n; c += BLOCK)
                memcpy(copy + x * n + c, row + x * channels + c, BLOCK * sizeof *copy);
        encode(DTYPE_BF16, n < channels ? copy : row, tensors[k]->half + line * n, width * n);
        row += n;
    }
}

VECTOR_CLONES void amx_rows_pair(const uint16_t *src, size_t distance, size_t n, uint32_t *dst)
{
    const uint16_t *next = src + distance;

#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint32_t)next[i] << 16 | src[i];
}

#ifdef __x86_64__
#define ISA __attribute__((target("avx512f,avx512bw")))
#define INLINE ISA __attribute__((always_inline)) static inline
#define SPLIT_PIXELS 32

/* Copies the last pixels of a row, 8 channels of each, and fills the rest with zeros. */
static void copy_rest(const uint16_t *src, size_t n, size_t width,
                      uint16_t last[SPLIT_PIXELS * BLOCK])
{
    memset(last, 0, SPLIT_PIXELS * BLOCK * sizeof *last);
    for (size_t i = 0; i < width; i++)
        memcpy(last + i * BLOCK, src + i * n, BLOCK * sizeof *last);
}

/* Loads 8 channels of pixel 8 l + k into quarter l of v[k]. */
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

/* Transposes the 8x8 matrix in each quarter of the vectors. */
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

ISA static void split_blocks(const uint16_t *src, size_t n, size_t width, uint16_t *planes,
                             size_t stride)
{
    uint16_t last[SPLIT_PIXELS * BLOCK];
    size_t x = 0;

    for (; x + SPLIT_PIXELS <= width; x += SPLIT_PIXELS)
        for (size_t c = 0; c < n; c += BLOCK)
            split_block(src + x * n + c, n, planes + c * stride + x, stride);
    for (size_t c = 0; x < width && c < n; c += BLOCK) {
        copy_rest(src + x * n + c, n, width - x, last);
        split_block(last, BLOCK, planes + c * stride + x, stride);
    }
}

#endif

void amx_rows_split(const uint16_t *src, size_t channels, size_t width, uint16_t *planes,
                    size_t plane)
{
#ifdef __x86_64__
    if (simd_has_bf16()) {
        split_blocks(src, channels, width, planes, plane);
        return;
    }
#endif
    for (size_t c = 0; c < channels; c++)
        for (size_t x = 0; x < width; x++)
            planes[c * plane + x] = src[x * channels + c];
}
