/* SPDX-License-Identifier: BSD-3-Clause */
/* How a tile comes into shared memory: copied, and once that is there given its form (narrow.h).
 * For kernels only. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_IN_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_IN_H

#include "trainer/backends/cuda/conv/narrow.h"

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* Part of the source that has the chunk, which becomes one of the part's. */
INLINE_DEVICE struct narrow_part narrow_in_part(const struct narrow_source *s, unsigned *chunk)
{
    unsigned split = s->first.channels / 8;

    if (*chunk < split)
        return s->first;
    *chunk -= split;
    return s->second;
}

INLINE_DEVICE void narrow_in_fetch_image(const struct narrow_part *part,
                                         const struct narrow_field *f, struct narrow_place p,
                                         unsigned char *x, const unsigned pitch,
                                         const unsigned rows, const unsigned around)
{
    NO_UNROLL
    for (unsigned i = threadIdx.x; i < pitch * rows; i += TILE_BLOCK) {
        unsigned pixel;
        bool real = narrow_pixel(f, p, i, pitch, around, &pixel);
        const float *from = part->image + (real ? (size_t)pixel * part->channels : 0);
        struct gpu16 v;

        UNROLL
        for (unsigned j = 0; j < 4; j++)
            v.word[j] = bf16_pair(real && 2 * j < part->channels ? from[2 * j] : 0,
                                  real && 2 * j + 1 < part->channels ? from[2 * j + 1] : 0);
        gpu16_store(x + i * 16, v);
    }
}

/* Begin to copy a tile: x, and g where the form has it. A thread's chunk is always the same. */
INLINE_DEVICE void narrow_in_fetch(const struct narrow_source *s, const struct narrow_field *f,
                                   struct narrow_place p, unsigned char *x, unsigned char *g,
                                   const unsigned chunks, const unsigned pitch, const unsigned rows,
                                   const unsigned around, const unsigned plane)
{
    unsigned own = threadIdx.x % chunks, chunk = own;
    struct narrow_part part = narrow_in_part(s, &chunk);

    if (chunks == 1 && s->first.form == NARROW_IMAGE) {
        narrow_in_fetch_image(&s->first, f, p, x, pitch, rows, around);
        return;
    }
    NO_UNROLL
    for (unsigned i = threadIdx.x / chunks; i < pitch * rows; i += TILE_BLOCK / chunks) {
        unsigned pixel, at = (own * plane + i) * 16;
        bool real = narrow_pixel(f, p, i, pitch, around, &pixel);
        size_t from = real ? (size_t)pixel * part.channels + chunk * 8 : 0;

        async_copy(x + at, part.x + from, real);
        if (g && part.form == NARROW_NORM_GRAD)
            async_copy(g + at, part.g + from, real);
    }
}

/* Begin to copy the larger side of a 2x2 tile, of which f is the smaller one: in each row the even
 * columns first, so that a tap's pixels are neighbours. */
INLINE_DEVICE void narrow_in_fetch_large(const struct narrow_part *part,
                                         const struct narrow_field *f, struct narrow_place p,
                                         unsigned char *x, const unsigned chunks)
{
    unsigned own = threadIdx.x % chunks;

    NO_UNROLL
    for (unsigned i = threadIdx.x / chunks; i < 4 * NARROW_PIXELS; i += TILE_BLOCK / chunks) {
        unsigned row = i / (2 * NARROW_COLUMNS), column = i % (2 * NARROW_COLUMNS);
        unsigned y = 2 * p.row + row, z = 2 * p.column + column;
        bool real = y < 2 * f->height && z < 2 * f->width;
        size_t pixel = ((size_t)p.image * 2 * f->height + y) * 2 * f->width + z;
        unsigned at = own * narrow_plane(chunks, NARROW_UP_TAPS) + row * 2 * NARROW_COLUMNS +
                      column % 2 * NARROW_COLUMNS + column / 2;

        async_copy(x + at * 16, part->x + (real ? pixel * part->channels + own * 8 : 0), real);
    }
}

/* Of four channels. */
INLINE_DEVICE void narrow_in_coefficients(float k[][4], const float *coef, unsigned channels,
                                          const unsigned nrows)
{
    UNROLL
    for (unsigned r = 0; r < NARROW_FORM_ROWS; r++)
        UNROLL
        for (unsigned j = 0; j < 4; j++)
            k[r][j] = r < nrows ? coef[r * channels + j] : 0;
}

INLINE_DEVICE float narrow_in_norm_grad(float k[][4], const unsigned j, float x, float g)
{
    float y = fmaf(k[0][j], x, k[1][j]), a = y > 0 ? k[2][j] * g : 0;

    return a + fmaf(k[3][j], x, k[4][j]);
}

INLINE_DEVICE float narrow_in_norm_relu(float k[][4], const unsigned j, float x)
{
    return fmaxf(fmaf(k[0][j], x, k[1][j]), 0.f);
}

/* g is NULL for NARROW_NORM_RELU. */
INLINE_DEVICE void narrow_in_apply(float k[][4], unsigned *x, const unsigned *g)
{
    unsigned v[2], u[2];

    gpu8_load(v, x);
    if (g)
        gpu8_load(u, g);
    UNROLL
    for (unsigned j = 0; j < 2; j++) {
        float low = bf16_low(v[j]), high = bf16_high(v[j]);

        v[j] = g ? bf16_pair(narrow_in_norm_grad(k, 2 * j, low, bf16_low(u[j])),
                             narrow_in_norm_grad(k, 2 * j + 1, high, bf16_high(u[j])))
                 : bf16_pair(narrow_in_norm_relu(k, 2 * j, low),
                             narrow_in_norm_relu(k, 2 * j + 1, high));
    }
    gpu8_store(x, v);
}

/* Once this thread's copies have arrived: give what they brought its form. Around an image stay
 * zeros. */
INLINE_DEVICE void narrow_in_form(const struct narrow_source *s, const struct narrow_field *f,
                                  struct narrow_place p, unsigned char *x, const unsigned char *g,
                                  const unsigned chunks, const unsigned pitch, const unsigned rows,
                                  const unsigned around, const unsigned plane)
{
    unsigned own = threadIdx.x % chunks, chunk = own, pixel;
    struct narrow_part part = narrow_in_part(s, &chunk);
    bool is_grad = g && part.form == NARROW_NORM_GRAD;
    bool has_coefficients = is_grad || part.form == NARROW_NORM_RELU;

    NO_UNROLL
    for (unsigned half = 0; half < 16 && has_coefficients; half += 8) {
        float k[NARROW_FORM_ROWS][4];

        narrow_in_coefficients(k, part.coef + chunk * 8 + half / 2, part.channels,
                               g && is_grad ? NARROW_FORM_ROWS : 2);
        NO_UNROLL
        for (unsigned i = threadIdx.x / chunks; i < pitch * rows; i += TILE_BLOCK / chunks) {
            unsigned at = (own * plane + i) * 16 + half;

            if (narrow_pixel(f, p, i, pitch, around, &pixel))
                narrow_in_apply(k, (unsigned *)(x + at),
                                is_grad ? (const unsigned *)(g + at) : NULL);
        }
    }
}

#endif

#endif
