/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of numbers in memory: float, and two of 16 bits. bfloat16 has 8 bits of precision and the
 * range of a float. IEEE 754 binary16 has 11 bits of precision and a maximum of 65504; numbers
 * below 6.1e-5 are subnormal, and below 3e-8 they become 0. Conversions round to nearest, ties to
 * even. Too large values become infinite and NaN stays NaN, so that a diverged training is
 * noticed. */
#ifndef UNETCTL_TRAINER_CORE_DTYPE_H
#define UNETCTL_TRAINER_CORE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };

static inline size_t dtype_size(enum dtype t)
{
    return t == DTYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Convert n numbers from float to t, or from t to float; t is not DTYPE_F32. */
void dtype_encode(enum dtype t, const float *src, uint16_t *dst, size_t n);
void dtype_decode(enum dtype t, const uint16_t *src, float *dst, size_t n);

/* Returns the largest relative rounding error of a normal number: 2^-8 for bf16, 2^-11 for f16, 0
 * for floats. */
double dtype_error(enum dtype t);

#endif
