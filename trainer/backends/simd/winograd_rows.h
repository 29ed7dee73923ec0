/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms of 3x3 convolutions, F(2x2, 3x3): 16 multiplications instead of 36 for four
 * neighbouring results (Lavin, Gray: Fast Algorithms for Convolutional Neural Networks, 2016).
 *
 *     results = A^T [ (G g G^T) * (B^T d B) ] A,    * summed over channels
 *
 * d: 4x4 pixels of the source; g: the window. Place p = 4 i + j of the 4x4 is a matrix product of
 * its own, [tiles][source channels] by [source channels][result channels]. */
#ifndef UNETCTL_TRAINER_BACKENDS_SIMD_WINOGRAD_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_SIMD_WINOGRAD_ROWS_H

#include <stddef.h>

#define WINOGRAD_TILE 2   /* results on a side */
#define WINOGRAD_SIDE 4   /* pixels of the source on a side */
#define WINOGRAD_PLACES 16

struct winograd_rows {
    size_t lanes;
    /* A row of tiles: src are the four rows of pixels, [width][n]; zeros[n] stands for what is
     * outside. d[p] + tile n receives B^T d B; d[p] are `place` floats apart. */
    void (*source)(const float *const src[WINOGRAD_SIDE], size_t width, size_t n,
                   const float *zeros, size_t place, float *d);
    /* The two rows of results, [width][n], from the products m[p] + tile n. */
    void (*result)(const float *m, size_t place, size_t width, size_t n, const float *bias,
                   float *const dst[WINOGRAD_TILE]);
};

#ifdef __x86_64__
extern const struct winograd_rows winograd_rows_avx512, winograd_rows_avx2;
#endif

#endif
