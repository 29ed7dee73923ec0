/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments of what a kernel writes (core/op.h), from parts of it while they are in the cache.
 * Whoever has found the parts, they are put together in their order (Chan, Golub, LeVeque: Updating
 * formulae and a pairwise algorithm for computing sample variances, 1979). */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_MOMENTS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_MOMENTS_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/op.h"

struct norm_moments {
    const struct norm_rows *rows; /* NULL: the op gives none */
    size_t nchannels, step;       /* numbers of a row of rows */
    size_t npartials, size;          /* doubles of a part */
};

/* Does the op give none, or can it be done, of results of that type? */
bool norm_moments_supports(const struct op *op, enum dtype t);

struct norm_moments norm_moments_of(const struct op *op, size_t npartials);

/* npixels of y, of the result's type, whole steps. */
void norm_moments_partial(const struct norm_moments *m, const void *y, size_t npixels,
                          double *partial);

/* parts[npartials][size] */
void norm_moments_combine(const struct norm_moments *m, const double *partials,
                          const struct tensor *moments);

#endif
