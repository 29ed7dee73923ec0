/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms of 3x3 convolutions, F(m x m, 3x3): (m + 2)^2 multiplications for m^2
 * neighbouring results instead of 9 m^2 (Lavin, Gray: Fast Algorithms for Convolutional Neural
 * Networks, 2016, https://arxiv.org/abs/1509.09308).
 *
 *     results         = A^T [ (G w G^T) * (B^T x B) ] A,      * summed over source channels
 *     gradient of w   = G^T [ (A dy A^T) * (B^T x B) ] G,     * summed over tiles
 *                     = G^T [ (A x A^T) * (B^T dy B) ] G, rotated by 180 degrees
 *
 * w is a window of weights, x the source, dy the gradient of the results; * multiplies element by
 * element. A applies to a tile of m x m pixels, B to the (m + 2) x (m + 2) pixels around a tile.
 * The last form shares B^T dy B with the gradient of the input. Each element (i, j) of the
 * transformed tiles, called place (m + 2) i + j, is a matrix product of its own.
 *
 * m is 2 or 4. The interpolation points are 0, 1, -1 and infinity for m = 2, and 0, 1/sqrt(2),
 * -1/sqrt(2), sqrt(2), -sqrt(2) and infinity for m = 4. With these the matrices' elements are
 * nearer to 1 than with the usual 0, 1, -1, 2, -2 and infinity, so that rounding errors are
 * smaller. */
#pragma once

#include "src/base.h"

#define WINOGRAD_SIDE 6 /* pixels of the source on a side of the largest tile */
#define WINOGRAD_LEFT 1u
#define WINOGRAD_RIGHT 2u

struct winograd_rows {
    size_t lanes; /* channels of a vector */
    size_t group; /* neighbouring tiles in a vector: for each channel one value of each tile */
    size_t tile, side; /* m, and m + 2 */
    /* Transforms a row of tiles, or a section of one. src: `side` rows of pixels, [width][n];
     * beside: whether there is another pixel to the left or right (WINOGRAD_LEFT, WINOGRAD_RIGHT),
     * which otherwise is 0. Writes B^T x B of tile t to d[p] + t * n, for places p that are `place`
     * floats apart, here and below. */
    void (*source)(const float *const *src, size_t width, size_t n, unsigned beside, size_t place,
                   float *d);
    /* Writes `tile` rows of results, [width][n], of A^T m A plus bias, from the products m[p] + t *
     * n of tile t; relu: applies a ReLU. */
    void (*result)(const float *m, size_t place, size_t width, size_t n, const float *bias,
                   bool relu, float *const *dst);
    /* Transforms `lanes` windows of nine weights that are `step` apart, G w G^T, once for each tile
     * of a group; turned: rotated by 180 degrees. */
    void (*window)(const float *w, size_t step, size_t turned, size_t place, float *g);
    /* For the gradient of the weights: writes A dy A^T of `tile` rows of dy, or of x, to y[p] + t *
     * n for tile t. */
    void (*spread)(const float *const *dy, size_t width, size_t n, size_t place, float *y);
    /* For the gradient of the weights: writes `lanes` windows of nine weights, `step` apart, G^T u
     * G, where u is first summed over the tiles of a group; turned: as above. */
    void (*gather)(const float *u, size_t place, size_t step, size_t turned, float *dw);
    /* The products of one place over ngroups groups, for all blocks of `lanes` of the nd result
     * channels: m = d weights[block][source channel], and u[block][source channel] += d y. NULL:
     * those of conv_rows.h are used. */
    void (*forward)(const float *d, const float *weights, size_t ns, size_t nd, size_t ngroups,
                    float *m);
    void (*grad_weights)(const float *d, const float *y, size_t ns, size_t nd, size_t ngroups,
                         float *u);
};

#ifdef __x86_64__
extern const struct winograd_rows winograd_rows_avx512[2], winograd_rows_avx2[2]; /* m = 4, 2 */
extern const struct winograd_rows winograd_pairs_avx512; /* m = 4 */
#endif
