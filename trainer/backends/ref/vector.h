/* SPDX-License-Identifier: BSD-3-Clause */
/* Coefficients of channels for loops that the compiler vectorizes. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_VECTOR_H
#define UNETCTL_TRAINER_BACKENDS_REF_VECTOR_H

#include <stddef.h>

#include "trainer/core/vector_clones.h"

/* Coefficients of channels are repeated to a period that is a multiple of the channels, and long
 * enough for vector instructions however few channels there are. */
#define VECTOR_MIN_PERIOD 64

static inline size_t vector_period(size_t nchannels)
{
    return nchannels >= VECTOR_MIN_PERIOD ? nchannels : VECTOR_MIN_PERIOD / nchannels * nchannels;
}

/* Repeats values[nchannels] to the period. */
static inline void vector_repeat(float *values, size_t nchannels)
{
    for (size_t i = nchannels; i < vector_period(nchannels); i++)
        values[i] = values[i - nchannels];
}

#endif
