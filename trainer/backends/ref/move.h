/* SPDX-License-Identifier: BSD-3-Clause */
/* For ops that copy values of any type and compute nothing. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_MOVE_H
#define UNETCTL_TRAINER_BACKENDS_REF_MOVE_H

#include <stdint.h>
#include <string.h>

#include "trainer/core/op.h"

typedef uint32_t move_wide __attribute__((vector_size(16), aligned(2), may_alias));

/* For the few bytes of a pixel a call of memcpy takes longer than the copy. */
static inline void move_bytes(char *dst, const char *src, size_t nbytes)
{
    if (nbytes % sizeof(move_wide))
        memcpy(dst, src, nbytes);
    else
        for (size_t i = 0; i < nbytes; i += sizeof(move_wide))
            *(move_wide *)(dst + i) = *(const move_wide *)(src + i);
}

/* Returns the bytes of a pixel. */
static inline size_t move_pixel(const struct tensor *t)
{
    return tensor_channels(t) * dtype_size(t->dtype);
}

/* Returns whether all tensors of the op have one type. */
static inline bool move_supports(const struct op *op)
{
    for (int i = -1; op_next_in(op, &i);)
        if (op->in[i]->dtype != op->in[0]->dtype)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (op->out[i]->dtype != op->in[0]->dtype)
            return false;
    return true;
}

#endif
