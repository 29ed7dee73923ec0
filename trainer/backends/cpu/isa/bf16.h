/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion between bf16 and float, one value at a time in loops that the compiler vectorizes.
 * Most kernels for bf16 compute with floats in between; AMX tiles multiply bf16. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_ISA_BF16_H
#define UNETCTL_TRAINER_BACKENDS_CPU_ISA_BF16_H

#include <string.h>

#include "trainer/core/op.h"

#define BF16_BLOCK 8192 /* values that one thread takes at a time */

static inline float bf16_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Rounds to nearest, ties to even, like dtype_encode(). */
static inline uint16_t bf16_from_float(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)(v != v ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Returns whether all inputs and results are bf16. */
static inline bool bf16_all(const struct op *op)
{
    for (int i = -1; op_next_in(op, &i);)
        if (op->in[i]->dtype != DTYPE_BF16)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (op->out[i]->dtype != DTYPE_BF16)
            return false;
    return true;
}

#endif
