/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms of 3x3 convolutions, F(m x m, 3x3): (m + 2)^2 multiplications for m^2
 * neighbouring results instead of 9 m^2 (Lavin, Gray: Fast Algorithms for Convolutional Neural
 * Networks, 2016, https://arxiv.org/abs/1509.09308).
 *
 *     results         = A^T [ (G w G^T) * (B^T x B) ] A,      * summed over source channels
 *     gradient of w   = G^T [ (A dy A^T) * (B^T x B) ] G,     * summed over tiles
 *                     = G^T [ (A x A^T) * (B^T dy B) ] G, turned by 180 degrees
 *
 * x and dy, the gradient of results, are read by tiles of m by m pixels, where B^T stands with the
 * m + 2 by m + 2 pixels around a tile; w: a window. The last form shares B^T dy B with the gradient
 * of the input. Place p = (m + 2) i + j is a product of matrices of its own. m is 2 or 4. The
 * points that make the matrices are 0, 1, -1 and infinity for m = 2; for m = 4 they are 0,
 * 1/sqrt(2), -1/sqrt(2), sqrt(2), -sqrt(2) and infinity, whose numbers are nearer to 1 than those
 * of the usual 1 and 2, and so are the rounding errors nearer to those of the sum itself. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_WINOGRAD_WINOGRAD_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_WINOGRAD_WINOGRAD_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#define WINOGRAD_SIDE 6 /* of the largest tile's source */
#define WINOGRAD_LEFT 1u
#define WINOGRAD_RIGHT 2u

struct winograd_rows {
    size_t lanes; /* channels of a vector */
    size_t group; /* neighbouring tiles of a vector: for each channel, tile after tile */
    size_t tile, side; /* m results and m + 2 pixels of the source on a side */
    /* A row of tiles, or a part of one. src: `side` rows of pixels, [width][n]; beside: whether
     * there is one more on either side (WINOGRAD_LEFT, WINOGRAD_RIGHT), where else all is zero.
     * d[p] + tile all receives B^T x B; places are `place` floats apart, here and below. all: n, or
     * more where these are some of several sources' channels. */
    void (*source)(const float *const *src, size_t width, size_t n, size_t all, unsigned beside,
                   size_t place, float *d);
    /* `tile` rows of results, [width][n], A^T m A of the products m[p] + tile all; relu: at least
     * 0. */
    void (*result)(const float *m, size_t place, size_t width, size_t n, size_t all,
                   const float *bias, bool relu, float *const *dst);
    /* G w G^T of `lanes` windows of nine that are `step` apart, once for each tile of a group;
     * turned: by 180 degrees. */
    void (*window)(const float *w, size_t step, size_t turned, size_t place, float *g);
    /* The gradient of the weights. y[p] + tile all receives A dy A^T of `tile` rows of dy, or of
     * x. */
    void (*spread)(const float *const *dy, size_t width, size_t n, size_t all, size_t place,
                   float *y);
    /* `lanes` windows of nine, `step` apart, G^T u G; u is summed over the tiles of a group;
     * turned: as above. */
    void (*gather)(const float *u, size_t place, size_t step, size_t turned, float *dw);
    /* The products of a place over ngroups groups, for all blocks of `lanes` of the nd channels:
     * m = d weights[block of d][s], u[block of d][s] += d y. NULL: those of conv_rows.h. */
    void (*forward)(const float *d, const float *weights, size_t ns, size_t nd, size_t ngroups,
                    float *m);
    void (*grad_weights)(const float *d, const float *y, size_t ns, size_t nd, size_t ngroups,
                         float *u);
};

/* For a picture of this size and ns and nd channels, with the instructions of simd_isa(); NULL:
 * none. */
const struct winograd_rows *winograd_rows_best(size_t height, size_t width, size_t ns, size_t nd);

#ifdef __x86_64__
extern const struct winograd_rows winograd_rows_avx512[2], winograd_rows_avx2[2]; /* m = 4, 2 */
extern const struct winograd_rows winograd_pairs_avx512; /* m = 4 */
#endif

#endif
