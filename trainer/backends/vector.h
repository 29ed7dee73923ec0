/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that the compiler turns into wide instructions where the processor has them.
 *
 * A function marked VECTOR_CLONES is compiled for several instruction sets and chosen when the
 * program is loaded. It must not contain an OpenMP region (its body would not be cloned). */
#ifndef UNETCTL_TRAINER_BACKENDS_VECTOR_H
#define UNETCTL_TRAINER_BACKENDS_VECTOR_H

#include <stddef.h>

/* The resolvers run before a sanitizer is set up, so these builds do without. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTOR_CLONES
#endif

/* Values per channel are repeated to a period that is a multiple of the channels and long enough
 * for wide instructions, however few channels there are. */
#define VECTOR_MIN_PERIOD 64

static inline size_t vector_period(size_t nchannels)
{
    return nchannels >= VECTOR_MIN_PERIOD ? nchannels : VECTOR_MIN_PERIOD / nchannels * nchannels;
}

/* values[nchannels] is repeated up to its period. */
static inline void vector_repeat(float *values, size_t nchannels)
{
    for (size_t i = nchannels; i < vector_period(nchannels); i++)
        values[i] = values[i - nchannels];
}

#endif
