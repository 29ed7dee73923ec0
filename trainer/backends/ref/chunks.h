/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums per channel over all pixels, in parallel and in a fixed order: the pixels are cut into a
 * number of chunks that does not depend on the number of threads, each chunk has partial sums of
 * its own, and these are added in order. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_CHUNKS_H
#define UNETCTL_TRAINER_BACKENDS_REF_CHUNKS_H

#include <stddef.h>

#define CHUNKS 64

/* Returns the first pixel of chunk i; its last one is before the first of chunk i + 1. */
static inline size_t chunk_begin(size_t npixels, size_t i)
{
    return npixels / CHUNKS * i + (i < npixels % CHUNKS ? i : npixels % CHUNKS);
}

/* Returns the number of doubles that chunks_sum() needs. */
size_t chunks_workspace(size_t nchannels);

/* workspace[c] = the sum over pixels of a[pixel][c], workspace[nchannels + c] = that of a * b, or 0
 * if b is NULL. */
void chunks_sum(const float *a, const float *b, size_t npixels, size_t nchannels,
                double *workspace);

#endif
