/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of one float that the compiler can run for a whole vector: no branch, no call. */
#ifndef UNETCTL_TRAINER_BACKENDS_VECTOR_MATH_H
#define UNETCTL_TRAINER_BACKENDS_VECTOR_MATH_H

#include <stdint.h>
#include <string.h>

/* exp(x) for x <= 0 to 2e-7 of its value; 0 below -87. With x = (k + f) log 2, |f| <= 1/2: 2^k is
 * put together from bits, 2^f is its Taylor polynomial. */
static inline float vector_exp_negative(float x)
{
    float clipped = x < -87.0F ? -87.0F : x;
    float t = clipped * 1.44269504F, k = (float)(int32_t)(t - 0.5F), f;
    float p = 1.0F / 5040;
    int32_t bits;
    float power;

    f = (clipped - k * 0.693359375F) + k * 2.12194440e-4F; /* log 2 in two parts */
    p = p * f + 1.0F / 720;
    p = p * f + 1.0F / 120;
    p = p * f + 1.0F / 24;
    p = p * f + 1.0F / 6;
    p = p * f + 0.5F;
    p = p * f + 1;
    p = p * f + 1;
    bits = (127 + (int32_t)k) << 23;
    memcpy(&power, &bits, sizeof power);
    return x < -87.0F ? 0 : p * power;
}

/* log(1 + m) for 0 <= m <= 1 to 2e-7 of its value: 2 artanh(m / (2 + m)). */
static inline float vector_log1p_unit(float m)
{
    float s = m / (2 + m), s2 = s * s, p = 2.0F / 15;

    p = p * s2 + 2.0F / 13;
    p = p * s2 + 2.0F / 11;
    p = p * s2 + 2.0F / 9;
    p = p * s2 + 2.0F / 7;
    p = p * s2 + 2.0F / 5;
    p = p * s2 + 2.0F / 3;
    p = p * s2 + 2;
    return p * s;
}

#endif
