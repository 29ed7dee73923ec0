/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of 3x3 convolutions of bf16 with instructions for bf16: a lane adds up the products
 * of two pairs of numbers. So that every lane counts with few channels too, lanes are neighbouring
 * pixels, and pixels of `n` channels side by side become planes, one for each channel or pair of
 * channels:
 *
 *     forward       plane of two channels, a pair for each pixel; times a pair of weights
 *     the weights   plane of one channel: two neighbouring pixels are a pair; times such a pair of dy
 *
 * A value read is used for three vectors of pixels or eight channels, or four and six in the gradient
 * of the weights. */
#ifndef UNETCTL_TRAINER_BACKENDS_SIMD_HALF_PLANES_H
#define UNETCTL_TRAINER_BACKENDS_SIMD_HALF_PLANES_H

#include <stddef.h>
#include <stdint.h>

#define HALF_PLANES_BLOCK 8    /* channels that are taken apart, or computed, at once */
#define HALF_PLANES_PIXELS 32  /* rows are written in such steps: so much may follow them */
#define HALF_PLANES_INPUTS 2   /* of the gradient of the weights: channels of the source and of dy ... */
#define HALF_PLANES_OUTPUTS 4
#define HALF_PLANES_SUMS 24    /* ... with three columns of the window: vectors of sums */
#define HALF_PLANES_LANES 16

struct half_planes {
    /* A row of pixels, of n channels, `channels` of them; planes are `stride` numbers apart. What
     * follows the row up to a whole step becomes 0. */
    void (*pairs)(const uint16_t *src, size_t n, size_t channels, size_t width, uint32_t *planes,
                  size_t stride);
    void (*split)(const uint16_t *src, size_t n, size_t channels, size_t width, uint16_t *planes,
                  size_t stride);
    /* Eight channels of a row of results, from the planes of pairs of three rows, the window's first
     * column at the row's first: weights[row][column][pair][channel]. dst has n channels. */
    void (*forward)(const uint32_t *const *rows, size_t npairs, size_t stride,
                    const uint32_t *weights, const float *bias, size_t width, size_t n,
                    uint16_t *dst);
    /* sums[output][input][column] += sum over x < width, a multiple of 32, of dy[output][x]
     * src[input][x + column], each a vector whose lanes are to be added. */
    void (*weights)(const uint16_t *dy, size_t dy_stride, const uint16_t *src, size_t src_stride,
                    size_t width, float *sums);
    /* totals[channel] += sum over x < width of planes[channel][x], eight channels. */
    void (*sum)(const uint16_t *planes, size_t stride, size_t width, float *totals);
    /* The sum of each vector's lanes. */
    void (*reduce)(const float *sums, size_t nvectors, float *totals);
};

/* NULL where there are no such instructions. */
const struct half_planes *half_planes_best(void);

#ifdef __x86_64__
extern const struct half_planes half_planes_bf16;
#endif

#endif
