/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of batch norm: a vector of channels of many pixels, or, where there are fewer
 * channels than lanes, of some pixels together. n rows of w = 1, 2 or 4 vectors side by side,
 * because memory is read faster the more of it lies together, and `step` numbers from one row to
 * the next; what belongs to a channel is an array of w * `lanes` floats. x, y, dy and dx are
 * floats, or bf16. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "trainer/core/tensor.h"

#define NORM_WIDE 4 /* the largest w */

struct norm_rows {
    size_t lanes;
    enum dtype dtype;
    /* sum = sum of x - shift, squares = sum of (x - shift)^2 */
    void (*sums)(const void *x, size_t n, size_t step, size_t w, const float *shift, float *sum,
                 float *squares);
    /* sum = sum of d, products = sum of d (x - shift); d = dy, with relu: where a x + c > 0, else
     * 0 */
    void (*grad_sums)(const void *dy, const void *x, size_t n, size_t step, size_t w, bool relu,
                      const float *a, const float *c, const float *shift, float *sum,
                      float *products);
    /* y = a x + c, with relu: 0 where that is less; y may be x */
    void (*apply)(const void *x, size_t n, size_t step, size_t w, bool relu, const float *a,
                  const float *c, void *y);
    /* dx = scale d + (b x + shift), d as above; dx may be dy */
    void (*gradient)(const void *dy, const void *x, size_t n, size_t step, size_t w, bool relu,
                     const float *a, const float *c, const float *scale, const float *b,
                     const float *shift, void *dx);
};

/* The widest of simd_isa() that so many channels fit; NULL: none. */
const struct norm_rows *norm_rows_best(size_t nchannels, enum dtype dtype);

/* Numbers of a row of whole pixels and whole vectors: channels, or lanes if these are more. */
size_t norm_rows_step(const struct norm_rows *rows, size_t nchannels);

/* Are there any for t, and are its rows of pixels whole vectors? */
bool norm_rows_fit(const struct tensor *t);

/* The largest w for rows of `step` numbers. */
size_t norm_rows_width(const struct norm_rows *rows, size_t step);

#ifdef __x86_64__
extern const struct norm_rows norm_rows_avx512, norm_rows_avx2;
extern const struct norm_rows bf16_norm_rows_avx512bf16, bf16_norm_rows_avx512,
    bf16_norm_rows_avx2;
#endif

#endif
