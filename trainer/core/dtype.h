/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of numbers in memory: float, and two of 16 bits. bfloat16 has 8 bits of precision and the
 * range of a float; IEEE 754 binary16 has 11 bits, up to 65504, gradual below 6.1e-5, nothing below
 * 3e-8. Both round to nearest, ties to even. What is too large becomes infinite, and NaN stays NaN,
 * so that a training which has diverged is seen.
 *
 * A value within the range of normal numbers changes by at most its dtype_error() part. */
#ifndef UNETCTL_TRAINER_CORE_DTYPE_H
#define UNETCTL_TRAINER_CORE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };

static inline size_t dtype_size(enum dtype t)
{
    return t == DTYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* n numbers; t is not DTYPE_F32. Uses the calling thread only. */
void dtype_encode(enum dtype t, const float *src, uint16_t *dst, size_t n);
void dtype_decode(enum dtype t, const uint16_t *src, float *dst, size_t n);

double dtype_error(enum dtype t); /* 2^-8 for bf16, 2^-11 for f16, else 0 */

#endif
