/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/amx_rows.h"

#include <string.h>

#include "trainer/backends/simd/half_planes.h"
#include "trainer/backends/vector.h"

#define BLOCK AMX_ROWS_CHANNELS

bool amx_rows_support(const struct tensor *const *parts)
{
    for (size_t k = 0; k < PARTS && parts[k]; k++)
        if (parts[k]->dtype != DTYPE_BF16)
            return false;
    return roles_common_channels(parts) % BLOCK == 0;
}

/* Pixels of n channels to where they have more. */
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

void amx_rows_read(const struct tensor *const *parts, const struct batch_norm_map *const *norm, size_t image,
                   size_t first, size_t n, size_t border, size_t pitch, uint16_t *dst)
{
    size_t height = (size_t)parts[0]->shape.dim[DIM_H], width = (size_t)parts[0]->shape.dim[DIM_W];
    size_t channels = roles_channels(parts);

    for (size_t i = first; i < first + n; i++, dst += pitch * channels) {
        size_t line = (image * height + i - border) * width, at = border * channels;

        if (i < border || i >= height + border) {
            memset(dst, 0, pitch * channels * sizeof *dst);
            continue;
        }
        memset(dst, 0, border * channels * sizeof *dst);
        for (size_t k = 0; k < PARTS && parts[k]; k++) {
            size_t own = tensor_channels(parts[k]);

            if (norm && norm[k])
                batch_norm_apply(norm[k], parts[k]->half + line * own, width * own, dst + at);
            else
                spread(parts[k]->half + line * own, own, width, dst + at, channels);
            at += own;
        }
        memset(dst + (border + width) * channels, 0,
               (pitch - border - width) * channels * sizeof *dst);
    }
}

void amx_rows_write(const struct tensor *const *parts, size_t image, size_t y, const float *row,
                    float *copy, float_rows_narrow_f *narrow)
{
    size_t width = (size_t)parts[0]->shape.dim[DIM_W], channels = roles_channels(parts);
    size_t line = (image * (size_t)parts[0]->shape.dim[DIM_H] + y) * width;

    for (size_t k = 0; k < PARTS && parts[k]; k++) {
        size_t n = tensor_channels(parts[k]);

        for (size_t x = 0; n < channels && x < width; x++)
            for (size_t c = 0; c < n; c += BLOCK)
                memcpy(copy + x * n + c, row + x * channels + c, BLOCK * sizeof *copy);
        narrow(DTYPE_BF16, n < channels ? copy : row, parts[k]->half + line * n, width * n);
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

void amx_rows_split(const uint16_t *src, size_t channels, size_t width, uint16_t *planes, size_t plane)
{
    const struct half_planes *best = half_planes_best();

    if (best) {
        best->split(src, channels, channels, width, planes, plane);
        return;
    }
    for (size_t c = 0; c < channels; c++)
        for (size_t x = 0; x < width; x++)
            planes[c * plane + x] = src[x * channels + c];
}
