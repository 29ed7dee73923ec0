/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments of a kernel's results (OP_OUT_MOMENTS in core/op.h), computed by sections while these are
 * in the cache. Threads may compute the partial moments in any order; they are combined in a fixed
 * one (Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample
 * variances, 1979). */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_MOMENTS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_MOMENTS_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/op.h"

struct norm_moments {
    const struct norm_rows *rows; /* NULL: the op gives no moments */
    size_t nchannels, step;       /* channels; values of a row of `rows` */
    size_t npartials, size;          /* sections; doubles of one section's partial moments */
};

/* Returns whether the op gives no moments, or its results suit the loops of norm_rows.h. */
bool norm_moments_supports(const struct op *op);

struct norm_moments norm_moments_of(const struct op *op, size_t npartials);

/* Computes the moments of npixels of y, whose number of values is a multiple of m->step. */
void norm_moments_partial(const struct norm_moments *m, const float *y, size_t npixels,
                          double *partial);

/* Writes moments from partials[npartials][size]. */
void norm_moments_combine(const struct norm_moments *m, const double *partials,
                          const struct tensor *moments);

#endif
