/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of few channels on tensor cores, 3x3, and 2x2 transposed with stride 2: bfloat16,
 * NHWC, sums in float, weights in float and rounded when they are read. Channels come in chunks of
 * 8, which are 16 bytes.
 *
 * A block makes tiles of 32 columns and some rows, one after the other. A tile and the pixels
 * around it lie in shared memory by chunks, chunk q of pixel p at (q * plane + p) * 16, so that
 * eight neighbours are read without bank conflicts. The next tile is fetched while this one is
 * computed. On its way in an input may be normalised (enum narrow_form), so that batch norm and
 * ReLU cost no pass of their own; on its way out a result's sums for the batch norm that follows
 * are added up, in a fixed order. narrow_in.h has the way in, narrow_row.h the products and the way
 * out. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_H

#include "trainer/backends/cuda/runtime/warp.h"

#define NARROW_COLUMNS 32
#define NARROW_ROWS 8
#define NARROW_PIXELS (NARROW_COLUMNS * NARROW_ROWS)
#define NARROW_PITCH (NARROW_COLUMNS + 2)
#define NARROW_HALO (NARROW_PITCH * (NARROW_ROWS + 2)) /* pixels of a tile and those around it */
#define NARROW_TAPS 9 /* of 3x3 */
#define NARROW_UP_TAPS 4
#define NARROW_MAX_CHUNKS 8
#define NARROW_MAX_M 5 /* of the 16 x 8 parts of dw one above the other, that a warp adds up */
#define NARROW_FORM_ROWS 5

/* Coefficients per channel: coef[i * channels + c], of which each form takes its first ones. */
enum narrow_form {
    NARROW_PLAIN,    /* x */
    NARROW_NORM_RELU, /* max(0, k0 x + k1) */
    NARROW_NORM_GRAD, /* (k0 x + k1 > 0 ? k2 g : 0) + k3 x + k4: gradient of norm and ReLU on g */
    NARROW_IMAGE      /* floats, up to 8 channels of them, which become a chunk with zeros */
};

/* Neighbouring channels of all pixels, which are a tensor by themselves. */
struct narrow_part {
    const uint16_t *x, *g;
    const float *coef, *image; /* image: instead of x */
    unsigned channels;
    enum narrow_form form;
};

/* The first part's channels, then the second's: a concatenation that is never written. With one
 * part second.channels is 0. */
struct narrow_source {
    struct narrow_part first, second;
};

enum narrow_sums {
    NARROW_NO_SUMS,
    NARROW_SQUARES,  /* of y and y y */
    NARROW_NORM_SUMS /* of g and g x, g being y where k0 x + k1 > 0 and else 0 */
};

struct narrow_result {
    uint16_t *y;
    const uint16_t *x; /* NARROW_NORM_SUMS: same place as y */
    const float *coef;
    unsigned channels;
};

struct narrow_field {
    unsigned height, width;
    unsigned down, across, ntiles; /* tiles in a column and a row of an image; of all */
};

struct narrow_args {
    struct narrow_field field;
    struct narrow_source src;
    const float *w, *bias; /* w[out * w_out + in * w_in + tap]; bias may be NULL */
    unsigned w_out, w_in, flip; /* flip: taps from the last one */
    unsigned nw; /* channels of the input that have weights: all but an image's zeros */
    struct narrow_result first, second; /* as in narrow_source */
    enum narrow_sums form;
    double *sums; /* [blocks][2][channels], of first and second together */
};

/* Bytes of shared memory. Planes differ by an odd number of 16 bytes, or by what keeps several
 * chunks of a pixel apart, modulo the 128 bytes that are read at a time. */
#define NARROW_PAD(chunks) ((chunks) == 1 ? 0 : (chunks) == 2 ? 4 : (chunks) == 4 ? 2 : 1)
#define NARROW_PLANE(n, chunks) ((n) / 8 * 8 + ((n) % 8 ? 8 : 0) + NARROW_PAD(chunks))
#define NARROW_STEPS(chunks, taps) (((taps) * (chunks) + 1) / 2) /* of 16 products */
#define NARROW_WEIGHT_BYTES(ci, co, taps) (NARROW_STEPS((ci) / 8, taps) * ((co) / 8) * WARP * 8)
#define NARROW_HALO_BYTES(c) ((c) / 8 * NARROW_PLANE(NARROW_HALO, (c) / 8) * 16)
#define NARROW_INNER_BYTES(c) ((c) / 8 * NARROW_PLANE(NARROW_PIXELS, (c) / 8) * 16)
#define NARROW_LARGE_BYTES(c) ((c) / 8 * NARROW_PLANE(4 * NARROW_PIXELS, (c) / 8) * 16)
#define NARROW_STAGE_BYTES(c) ((c) / 8 * NARROW_PLANE(NARROW_COLUMNS, (c) / 8) * 16) /* of a warp */
#define NARROW_SUM_BYTES (TILE_BLOCK * 16 * 4)

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* Pixels from a row of the small side to the next, in a tile: 3x3, or the larger side of 2x2. */
INLINE_DEVICE unsigned narrow_pitch(const unsigned taps)
{
    return taps == NARROW_TAPS ? NARROW_PITCH : 4 * NARROW_COLUMNS;
}

/* Pixels of a tile's plane. */
INLINE_DEVICE unsigned narrow_plane(const unsigned chunks, const unsigned taps)
{
    return taps == NARROW_TAPS ? NARROW_PLANE(NARROW_HALO, chunks)
                               : NARROW_PLANE(4 * NARROW_PIXELS, chunks);
}

struct narrow_place {
    unsigned image, row, column; /* of a tile's first pixel */
};

INLINE_DEVICE struct narrow_place narrow_place(const struct narrow_field *f, unsigned tile)
{
    struct narrow_place p;

    p.column = tile % f->across * NARROW_COLUMNS;
    p.row = tile / f->across % f->down * NARROW_ROWS;
    p.image = tile / f->across / f->down;
    return p;
}

/* Pixel i of a tile with `around` pixels around it, `pitch` in a row. -1 wraps. */
INLINE_DEVICE bool narrow_pixel(const struct narrow_field *f, struct narrow_place p, unsigned i,
                                const unsigned pitch, const unsigned around, unsigned *pixel)
{
    unsigned y = p.row + i / pitch - around, x = p.column + i % pitch - around;

    *pixel = (p.image * f->height + y) * f->width + x;
    return y < f->height && x < f->width;
}

#endif

/* Channels of the source as a kernel is made for them. */
static inline unsigned narrow_channels(const struct narrow_source *s)
{
    return s->first.form == NARROW_IMAGE ? 8 : s->first.channels + s->second.channels;
}

/* Tiles of a tensor [images][height][width]. */
static inline struct narrow_field narrow_field(unsigned images, unsigned height, unsigned width)
{
    struct narrow_field f = {height, width, (height + NARROW_ROWS - 1) / NARROW_ROWS,
                             (width + NARROW_COLUMNS - 1) / NARROW_COLUMNS, 0};

    f.ntiles = images * f.down * f.across;
    return f;
}

#endif
