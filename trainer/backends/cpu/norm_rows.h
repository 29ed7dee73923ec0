/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of batch norm. A vector holds `lanes` channels of one pixel, or, if there are
 * fewer channels, several pixels. A loop processes n rows of w = 1, 2 or 4 neighbouring vectors,
 * because longer contiguous reads are faster; rows are `step` values apart. Coefficients and sums
 * of channels are arrays of w * `lanes` floats. */
#pragma once

#include "src/base.h"

#define NORM_WIDE 4 /* the largest w */

struct norm_rows {
    size_t lanes;
    /* sum = sum of x - shift, squares = sum of (x - shift)^2 */
    void (*sums)(const float *x, size_t n, size_t step, size_t w, const float *shift, float *sum,
                 float *squares);
    /* sum = sum of d, products = sum of d (x - shift), where d = dy; with relu d = 0 unless a x + c
     * > 0 */
    void (*grad_sums)(const float *dy, const float *x, size_t n, size_t step, size_t w, bool relu,
                      const float *a, const float *c, const float *shift, float *sum,
                      float *products);
    /* y = a x + c, with relu at least 0; y may be x. stream: y, which is aligned to vectors, is
     * written past the cache, so that its lines are not read first. */
    void (*apply)(const float *x, size_t n, size_t step, size_t w, bool relu, bool stream,
                  const float *a, const float *c, float *y);
    /* dx = a d + (b x + shift), with d as above; dx may be dy */
    void (*gradient)(const float *dy, const float *x, size_t n, size_t step, size_t w, bool relu,
                     const float *a, const float *c, const float *b, const float *shift, float *dx);
};

#ifdef __x86_64__
extern const struct norm_rows norm_rows_avx512, norm_rows_avx2;
#endif
