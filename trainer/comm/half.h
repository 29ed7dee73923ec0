/* SPDX-License-Identifier: BSD-3-Clause */
/* Floats as 16 bits on their way between nodes: bfloat16 (8 bits of precision, the range of a float)
 * or IEEE 754 binary16 (11 bits, up to 65504, gradual below 6.1e-5, nothing below 3e-8). Both round to
 * nearest, ties to even. What is too large becomes infinite, and NaN stays NaN, so that a training
 * which has diverged is seen.
 *
 * A value within the range of normal numbers changes by at most its half_error() part. */
#ifndef UNETCTL_TRAINER_COMM_HALF_H
#define UNETCTL_TRAINER_COMM_HALF_H

#include <stddef.h>
#include <stdint.h>

enum half_kind { HALF_NONE, HALF_BF16, HALF_FP16 };

void half_encode(enum half_kind kind, const float *src, uint16_t *dst, size_t n);
void half_decode(enum half_kind kind, const uint16_t *src, float *dst, size_t n);

double half_error(enum half_kind kind); /* 2^-8 for bf16, 2^-11 for fp16, else 0 */

#endif
