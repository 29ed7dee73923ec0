/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions between types of numbers, by integer arithmetic on their bits, and from records; all
 * in loops that the compiler vectorizes. */
#include "src/base.h"
#include "trainer/core/kernel.h"

#define SIGN UINT32_C(0x80000000)
#define INFINITE UINT32_C(0x7f800000)
#define FP16_OVERFLOWS UINT32_C(0x477ff000) /* 65520, half a step above 65504 */
#define FP16_NORMAL UINT32_C(0x38800000)    /* 2^-14 */
#define FP16_REBIAS UINT32_C(0x38000000)    /* (127 - 15) << 23 */

static inline uint32_t bits_of(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Adds 0x8000, half a step of the result, or 0x7fff if the truncated number is even: the carry
 * rounds to nearest, ties to even. Past the largest number it carries into infinity. NaN is not
 * rounded. */
VECTOR_CLONES static void encode_bf16(const float *src, uint16_t *dst, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits_of(src[i]);
        uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
        dst[i] = (uint16_t)((u & ~SIGN) > INFINITE ? u >> 16 | 0x40 : rounded);
    }
}

/* Subnormal results: adding 0.5 rounds, since floats from 0.5 on have steps of 2^-24, the steps of
 * binary16's subnormal numbers. */
VECTOR_CLONES static void encode_fp16(const float *src, uint16_t *dst, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits_of(src[i]), a = u & ~SIGN;
        uint32_t normal = (a + 0xfff + (a >> 13 & 1) - FP16_REBIAS) >> 13;
        uint32_t small = bits_of(float_of(a) + 0.5f) - bits_of(0.5f);
        uint32_t h = a < FP16_NORMAL ? small : normal;
        h = a >= FP16_OVERFLOWS ? 0x7c00 : h;
        h = a > INFINITE ? 0x7e00 : h;
        dst[i] = (uint16_t)((u & SIGN) >> 16 | h);
    }
}

VECTOR_CLONES static void decode_bf16(const uint16_t *src, float *dst, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = float_of((uint32_t)src[i] << 16);
}

VECTOR_CLONES static void decode_fp16(const uint16_t *src, float *dst, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        uint32_t sign = (uint32_t)(src[i] & 0x8000) << 16, m = src[i] & 0x7fff;
        uint32_t small = bits_of((float)(int32_t)m * 0x1p-24f);
        uint32_t v = m < 0x400 ? small : (m << 13) + FP16_REBIAS;
        v = m >= 0x7c00 ? m << 13 | INFINITE : v;
        dst[i] = float_of(sign | v);
    }
}

void dtype_encode(enum dtype kind, const float *src, uint16_t *dst, size_t n)
{
    if (kind == DTYPE_BF16)
        encode_bf16(src, dst, n);
    else
        encode_fp16(src, dst, n);
}

void dtype_decode(enum dtype kind, const uint16_t *src, float *dst, size_t n)
{
    if (kind == DTYPE_BF16)
        decode_bf16(src, dst, n);
    else
        decode_fp16(src, dst, n);
}

double dtype_error(enum dtype kind)
{
    return kind == DTYPE_BF16 ? 0x1p-8 : kind == DTYPE_F16 ? 0x1p-11 : 0;
}

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
