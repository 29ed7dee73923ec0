/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of floats without branches or calls, so that the compiler vectorizes loops over
 * them. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_VECTOR_MATH_H
#define UNETCTL_TRAINER_BACKENDS_REF_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Returns max(x, least), to a rounding of x - least. A comparison would be exact, but the compiler
 * would turn it into a branch. */
static inline float vector_at_least(float x, float least)
{
    float above = x - least;

    return 0.5F * (above + fabsf(above)) + least;
}

/* exp(x) for x <= 0, with a relative error of at most 3e-7; 0 below -87.68. With x = (k + f) log 2,
 * |f| <= 1/2 and k >= -127, 2^k is built from its bits and 2^f is a Taylor polynomial. */
static inline float vector_exp_negative(float x)
{
    float k = (float)(int32_t)(vector_at_least(x * 1.44269504F, -127) - 0.5F), f;
    float p = 1.0F / 5040;
    int32_t bits;
    float power;

    f = (x - k * 0.693359375F) + k * 2.12194440e-4F; /* log 2 in two parts */
    f = vector_at_least(f, -1);
    p = p * f + 1.0F / 720;
    p = p * f + 1.0F / 120;
    p = p * f + 1.0F / 24;
    p = p * f + 1.0F / 6;
    p = p * f + 0.5F;
    p = p * f + 1;
    p = p * f + 1;
    bits = (127 + (int32_t)k) << 23;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* log(1 + m) for 0 <= m <= 1, with a relative error of at most 3e-7: the series of 2 artanh(m / (2
 * + m)). */
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
