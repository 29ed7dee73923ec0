/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of activations as floats, whatever their type: those of floats themselves, of others a copy
 * that stays in the cache of a core. Numbers are counted through the whole tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_ISA_FLOAT_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_ISA_FLOAT_ROWS_H

#include "trainer/backends/cpu/isa/simd.h"

/* n floats as numbers of 16 bits of a type. */
typedef void float_rows_encode_f(enum dtype t, const float *src, uint16_t *dst, size_t n);

/* The fastest of simd_isa(), for bf16. */
float_rows_encode_f *float_rows_encode(void);

/* Floats and bf16 only? */
bool float_rows_supports(const struct op *op);

/* n numbers from number `at` on; copy: room for them. */
static inline const float *float_rows_read(const struct tensor *t, size_t at, size_t n, float *copy)
{
    if (t->dtype == DTYPE_F32)
        return t->data + at;
    dtype_decode(t->dtype, t->half + at, copy, n);
    return copy;
}

/* Asks for n numbers from number `at` on (simd_fetch). */
static inline void float_rows_fetch(const struct tensor *t, size_t at, size_t n)
{
    if (t->dtype == DTYPE_F32)
        simd_fetch(t->data + at, n);
    else
        simd_fetch((const float *)(const void *)(t->half + at), n / 2);
}

/* Where to write numbers from number `at` on; float_rows_done() brings them there from a copy. */
static inline float *float_rows_begin(const struct tensor *t, size_t at, float *copy)
{
    return t->dtype == DTYPE_F32 ? t->data + at : copy;
}

static inline void float_rows_done(const struct tensor *t, size_t at, size_t n, const float *copy,
                                   float_rows_encode_f *encode)
{
    if (t->dtype != DTYPE_F32)
        encode(t->dtype, copy, t->half + at, n);
}

#endif
