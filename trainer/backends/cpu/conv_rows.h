/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of convolutions, one row of pixels at a time. What follows describes 3x3 windows;
 * transposed convolutions, direct_conv.c and Winograd's products use the same loops with other
 * windows.
 *
 * A vector holds `lanes` results. These are channels of one pixel or, if there are fewer channels
 * than lanes, all channels of a group of neighbouring pixels. A group has one window, which covers
 * those of its pixels: 3 x 4 for two pixels. Each of its weights is 0 in the lanes of a pixel whose
 * own window does not contain that place, so 3 of 4 multiplications count.
 *
 * k is the index of a value in a row of the window: its column, then its source channel. These
 * values are neighbours in memory, so both directions are products of small matrices:
 *
 *     forward        dst[g][l]  = bias[l] + sum over r, k of src[r][g step + k] weights[r][k][l]
 *     grad_weights   sums[r][k][l] += sum over g of src[g step + k] dst[r][g][l]
 *
 * r is the row of the window, g counts vectors, and rows of the source have a border of zeros.
 * Loading a value of the source costs as much as multiplying by it. Register blocking uses each
 * value more than once: for two vectors of channels, or two rows of results. */
#pragma once

#include "src/base.h"

struct conv_rows {
    size_t lanes;
    /* Computes one row of results from nrows rows of the source, for nvectors = 1 or 2 neighbouring
     * vectors of channels: weights[r][k][nvectors * lanes]. Vectors of pixels are dst_step floats
     * apart in dst. */
    void (*forward)(const float *const *src, size_t nrows, size_t step, size_t nk,
                    const float *weights, const float *bias, size_t ngroups, size_t dst_step,
                    size_t nvectors, float *dst);
    /* Adds to sums the products of one row of the source with nrows = 1 or 2 rows of results;
     * dst[r] is the one that has the source's row as row r of its window. */
    void (*grad_weights)(const float *src, size_t step, size_t nk, const float *const *dst,
                         size_t nrows, size_t ngroups, size_t dst_step, float *sums);
    /* sum[lanes] += sum over g of dst[g] */
    void (*sum)(const float *dst, size_t ngroups, size_t dst_step, float *sum);
};

/* Returns the loops for the instruction set of simd_isa(), or NULL. */
const struct conv_rows *conv_rows_best(void);

/* Returns the loops with that number of lanes, if the processor has them, or NULL. */
const struct conv_rows *conv_rows_find(size_t lanes);

/* Returns the number of chunks for sums over npixels, which does not depend on the number of
 * threads. */
size_t conv_rows_chunks(size_t npixels);

/* Adds sums[1..nchunks - 1][n] to sums[0], in order. Shares the work among the threads of the
 * parallel region that calls it. */
void conv_rows_add(float *sums, size_t n, size_t nchunks);

#ifdef __x86_64__
extern const struct conv_rows conv_rows_avx512, conv_rows_avx2;
#endif
