/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/core/record.h"

#include <string.h>

#include "trainer/core/vector_clones.h"

VECTOR_CLONES static void divide_bytes(const uint8_t *src, float divisor, size_t n, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)src[i] / divisor;
}

VECTOR_CLONES static void decode_labels(const uint8_t *src, size_t n, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = src[i] == RECORD_IGNORE ? -1.0f : (float)src[i];
}

void record_decode(enum record_kind kind, const void *src, float divisor, size_t n, float *dst)
{
    if (kind == RECORD_NUMBERS)
        memcpy(dst, src, n * sizeof *dst);
    else if (kind == RECORD_BYTES)
        divide_bytes(src, divisor, n, dst);
    else
        decode_labels(src, n, dst);
}

void record_unpack(const struct record *r, size_t images, size_t targets, float *image,
                   float *target)
{
    record_decode((enum record_kind)r->image_kind, record_image(r), RECORD_DIVISOR, images, image);
    record_decode((enum record_kind)r->target_kind, record_target(r, images), r->target_divisor,
                  targets, target);
}
