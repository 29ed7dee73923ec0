/* SPDX-License-Identifier: BSD-3-Clause */
/* The path of a tile into shared memory: asynchronous copies, then the prologue (enum mma_prologue)
 * in place. Only an image of floats is converted by the threads while they copy it. Included by
 * kernels only. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_PROLOGUE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_PROLOGUE_H

#include "trainer/backends/cuda/conv/mma_tile.h"

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* Returns the part of the source that contains a chunk, whose number becomes one within the
 * part. */
INLINE_DEVICE struct mma_part mma_prologue_part(const struct mma_source *s, unsigned *chunk)
{
    unsigned split = s->first.channels / 8;

    if (*chunk < split)
        return s->first;
    *chunk -= split;
    return s->second;
}

INLINE_DEVICE void mma_prologue_fetch_image(const struct mma_part *part,
                                            const struct mma_field *f, struct mma_position p,
                                            unsigned char *x, const unsigned pitch,
                                            const unsigned rows, const unsigned around)
{
    NO_UNROLL
    for (unsigned i = threadIdx.x; i < pitch * rows; i += TILE_BLOCK) {
        unsigned pixel;
        bool real = mma_pixel(f, p, i, pitch, around, &pixel);
        const float *from = part->image + (real ? (size_t)pixel * part->channels : 0);
        struct gpu16 v;

        UNROLL
        for (unsigned j = 0; j < 4; j++)
            v.word[j] = bf16_pair(real && 2 * j < part->channels ? from[2 * j] : 0,
                                  real && 2 * j + 1 < part->channels ? from[2 * j + 1] : 0);
        gpu16_store(x + i * 16, v);
    }
}

/* Starts to copy a tile to x, and its g to `g` where the prologue has one. A thread always copies
 * the same chunk. An image is copied and converted at once. */
INLINE_DEVICE void mma_prologue_fetch(const struct mma_source *s, const struct mma_field *f,
                                      struct mma_position p, unsigned char *x, unsigned char *g,
                                      const unsigned chunks, const unsigned pitch,
                                      const unsigned rows, const unsigned around,
                                      const unsigned plane)
{
    unsigned own = threadIdx.x % chunks, chunk = own;
    struct mma_part part = mma_prologue_part(s, &chunk);

    if (chunks == 1 && s->first.prologue == MMA_IMAGE) {
        mma_prologue_fetch_image(&s->first, f, p, x, pitch, rows, around);
        return;
    }
    NO_UNROLL
    for (unsigned i = threadIdx.x / chunks; i < pitch * rows; i += TILE_BLOCK / chunks) {
        unsigned pixel, at = (own * plane + i) * 16;
        bool real = mma_pixel(f, p, i, pitch, around, &pixel);
        size_t from = real ? (size_t)pixel * part.channels + chunk * 8 : 0;

        async_copy(x + at, part.x + from, real);
        if (g && part.prologue == MMA_NORM_GRAD)
            async_copy(g + at, part.g + from, real);
    }
}

/* Starts to copy a tile of the larger side of a 2x2 convolution; f is the smaller side. In a row
 * the even columns come first, so that the pixels of a tap are neighbours. */
INLINE_DEVICE void mma_prologue_fetch_large(const struct mma_part *part,
                                            const struct mma_field *f, struct mma_position p,
                                            unsigned char *x, const unsigned chunks)
{
    unsigned own = threadIdx.x % chunks;

    NO_UNROLL
    for (unsigned i = threadIdx.x / chunks; i < 4 * MMA_PIXELS; i += TILE_BLOCK / chunks) {
        unsigned row = i / (2 * MMA_COLUMNS), column = i % (2 * MMA_COLUMNS);
        unsigned y = 2 * p.row + row, z = 2 * p.column + column;
        bool real = y < 2 * f->height && z < 2 * f->width;
        size_t pixel = ((size_t)p.image * 2 * f->height + y) * 2 * f->width + z;
        unsigned at = own * mma_plane(chunks, MMA_TAPS_2X2) + row * 2 * MMA_COLUMNS +
                      column % 2 * MMA_COLUMNS + column / 2;

        async_copy(x + at * 16, part->x + (real ? pixel * part->channels + own * 8 : 0), real);
    }
}

/* Loads the coefficients of four channels. */
INLINE_DEVICE void mma_prologue_coefficients(float k[][4], const float *coef, unsigned channels,
                                             const unsigned nrows)
{
    UNROLL
    for (unsigned r = 0; r < MMA_PROLOGUE_ROWS; r++)
        UNROLL
        for (unsigned j = 0; j < 4; j++)
            k[r][j] = r < nrows ? coef[r * channels + j] : 0;
}

INLINE_DEVICE float mma_prologue_norm_grad(float k[][4], const unsigned j, float x, float g)
{
    float y = fmaf(k[0][j], x, k[1][j]), a = y > 0 ? k[2][j] * g : 0;

    return a + fmaf(k[3][j], x, k[4][j]);
}

INLINE_DEVICE float mma_prologue_norm_relu(float k[][4], const unsigned j, float x)
{
    return fmaxf(fmaf(k[0][j], x, k[1][j]), 0.f);
}

/* Applies the prologue to four channels of x in place; g is NULL for MMA_NORM_RELU. */
INLINE_DEVICE void mma_prologue_apply_4(float k[][4], unsigned *x, const unsigned *g)
{
    unsigned v[2], u[2];

    gpu8_load(v, x);
    if (g)
        gpu8_load(u, g);
    UNROLL
    for (unsigned j = 0; j < 2; j++) {
        float low = bf16_low(v[j]), high = bf16_high(v[j]);

        v[j] = g ? bf16_pair(mma_prologue_norm_grad(k, 2 * j, low, bf16_low(u[j])),
                             mma_prologue_norm_grad(k, 2 * j + 1, high, bf16_high(u[j])))
                 : bf16_pair(mma_prologue_norm_relu(k, 2 * j, low),
                             mma_prologue_norm_relu(k, 2 * j + 1, high));
    }
    gpu8_store(x, v);
}

/* Applies the prologue to a tile that has arrived: all threads have waited for their copies, and
 * met. Neighbouring threads take the halves of a chunk, so that a warp accesses neighbouring banks.
 * Pixels outside of the image stay zero. */
INLINE_DEVICE void mma_prologue_apply(const struct mma_source *s, const struct mma_field *f,
                                      struct mma_position p, unsigned char *x,
                                      const unsigned char *g,
                                      const unsigned chunks, const unsigned pitch,
                                      const unsigned rows, const unsigned around,
                                      const unsigned plane)
{
    unsigned own = threadIdx.x % chunks, first = threadIdx.x / chunks, chunk = own, pixel;
    struct mma_part part = mma_prologue_part(s, &chunk);
    bool is_grad = g && part.prologue == MMA_NORM_GRAD;
    float k[MMA_PROLOGUE_ROWS][4];

    if (!is_grad && part.prologue != MMA_NORM_RELU)
        return;
    mma_prologue_coefficients(k, part.coef + chunk * 8 + first % 2 * 4, part.channels,
                              g && is_grad ? MMA_PROLOGUE_ROWS : 2);
    NO_UNROLL
    for (unsigned i = first / 2; i < pitch * rows; i += TILE_BLOCK / chunks / 2) {
        unsigned at = (own * plane + i) * 16 + first % 2 * 8;

        if (mma_pixel(f, p, i, pitch, around, &pixel))
            mma_prologue_apply_4(k, (unsigned *)(x + at),
                                 is_grad ? (const unsigned *)(g + at) : NULL);
    }
}

#endif

#endif
