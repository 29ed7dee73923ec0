/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of activations as floats, whatever their type. Floats are used in place; other types are
 * converted in a copy that stays in a core's cache. Indices count values of the whole tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_ISA_FLOAT_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_ISA_FLOAT_ROWS_H

#include "trainer/backends/cpu/isa/simd.h"

/* Converts n floats to t, which is DTYPE_BF16. */
typedef void float_rows_encode_f(enum dtype t, const float *src, uint16_t *dst, size_t n);

/* Returns the fastest conversion to bf16 for the processor. */
float_rows_encode_f *float_rows_encode(void);

/* Returns whether all tensors are floats or bf16. */
bool float_rows_supports(const struct op *op);

/* Returns n values from index `at` on: those of the tensor, or copy, which has room for them, after
 * conversion. */
static inline const float *float_rows_read(const struct tensor *t, size_t at, size_t n, float *copy)
{
    if (t->dtype == DTYPE_F32)
        return t->data + at;
    dtype_decode(t->dtype, t->half + at, copy, n);
    return copy;
}

/* Prefetches n values from index `at` on. */
static inline void float_rows_fetch(const struct tensor *t, size_t at, size_t n)
{
    if (t->dtype == DTYPE_F32)
        simd_fetch(t->data + at, n);
    else
        simd_fetch((const float *)(const void *)(t->half + at), n / 2);
}

/* Returns where to write values from index `at` on: the tensor's memory, or copy, which
 * float_rows_done() then converts. */
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
