/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums per channel over all pixels, in parallel and still in a fixed order: the pixels are cut
 * into a number of chunks that does not depend on the threads, each chunk has partial sums of its
 * own, and these are added in order. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_CHUNKS_H
#define UNETCTL_TRAINER_BACKENDS_REF_CHUNKS_H

#include <stddef.h>

#include "trainer/core/tensor.h"

#define CHUNKS 64

/* Pixels [chunk_begin(n, i), chunk_begin(n, i + 1)) are those of chunk i. */
static inline size_t chunk_begin(size_t npixels, size_t i)
{
    return npixels / CHUNKS * i + (i < npixels % CHUNKS ? i : npixels % CHUNKS);
}

/* Doubles that chunks_sum needs. */
size_t chunks_workspace(size_t nchannels);

/* workspace[c] = sum over pixels of a[pixel][c], workspace[nchannels + c] = of a * b; b may be
 * NULL. */
void chunks_sum(const float *a, const float *b, size_t npixels, size_t nchannels,
                double *workspace);

/* What chunks_sum(x, x) gives of npixels that have these moments [2][C] (core/op.h). */
void chunks_from_moments(const struct tensor *moments, size_t npixels, double *sums);

#endif
