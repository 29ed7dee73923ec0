/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of 3x3 convolutions, a row of pixels at a time.
 *
 * A vector holds `lanes` results: `lanes` channels of one pixel, or, where there are fewer, all
 * channels of several neighbours ("group" pixels). Neighbours share the values of the source: with
 * two pixels to a vector the window is 3 x 4 and each tap has its weights in one or both halves,
 * zero elsewhere. So vectors are full, and 3 of 4 multiplications count, with 8 channels too.
 *
 * With k = (column of the window, source channel) as one index the values of a window's row lie
 * side by side in memory, and both directions are products of small matrices:
 *
 *     forward        dst[g][l]  = bias[l] + sum over r, k of src[r][g step + k] weights[r][k][l]
 *     grad_weights   sums[r][k][l] += sum over g of src[g step + k] dst[r][g][l]
 *
 * where r is the row of the window, g counts vectors, and rows of the source have a border of
 * zeros. To load a value of the source costs as much as to multiply with it, so each is used more
 * than once: for two vectors of channels, or two rows of results, or the three rows of the
 * window. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV_ROWS_H

#include <stddef.h>

#define CONV_ROWS 3 /* of the window */

struct conv_rows {
    size_t lanes;
    /* One row of results from nrows rows, nvectors = 1 or 2 neighbouring vectors of channels at
     * once: weights[r][k][nvectors * lanes]. From one vector of pixels to the next dst has
     * dst_step floats. */
    void (*forward)(const float *const *src, size_t nrows, size_t step, size_t nk,
                    const float *weights, const float *bias, size_t ngroups, size_t dst_step,
                    size_t nvectors, float *dst);
    /* The row whose window is src[0..2] and the row below it, one vector of channels. */
    void (*forward_two)(const float *const src[CONV_ROWS + 1], size_t step, size_t nk,
                        const float *weights, const float *bias, size_t ngroups, size_t dst_step,
                        float *const dst[2]);
    /* One row of the source; dst[r] is the row of results that has it in its window's row r;
     * nrows = 1, 2 or 3. */
    void (*grad_weights)(const float *src, size_t step, size_t nk, const float *const *dst,
                         size_t nrows, size_t ngroups, size_t dst_step, float *sums);
    /* sum[lanes] += sum over g of dst[g] */
    void (*sum)(const float *dst, size_t ngroups, size_t dst_step, float *sum);
};

/* Those of simd_isa(); NULL: none. */
const struct conv_rows *conv_rows_best(void);

/* Those with so many lanes, at most the best's; NULL: none. */
const struct conv_rows *conv_rows_find(size_t lanes);

/* Into how many parts to cut sums over so many pixels: whatever the number of threads is. */
size_t conv_rows_chunks(size_t npixels);

/* sums[nchunks][n]: adds up the chunks in their order, into the first. Shares the work among the
 * threads of the parallel region that it is called in. */
void conv_rows_add(float *sums, size_t n, size_t nchunks);

#ifdef __x86_64__
extern const struct conv_rows conv_rows_avx512, conv_rows_avx2;
#endif

#endif
