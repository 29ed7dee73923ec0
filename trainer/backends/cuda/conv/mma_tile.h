/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of few channels on tensor cores, 3x3, and 2x2 transposed with stride 2: bfloat16,
 * NHWC, sums in float, weights in float and rounded when they are read. Channels come in chunks of
 * 8, which are 16 bytes.
 *
 * A block makes tiles of 32 columns and some rows, one after the other. A tile and the pixels
 * around it lie in shared memory by chunks, chunk q of pixel p at (q * plane + p) * 16, so that
 * eight neighbours are read without bank conflicts. The next tile is fetched while this one is
 * computed. On its way in an input may be normalised (enum mma_prologue), so that batch norm and
 * ReLU cost no pass of their own; on its way out a result's sums for the batch norm that follows
 * are added up, in a fixed order. mma_prologue.h has the way in, mma_row.h the products and the way
 * out. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TILE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TILE_H

#include "trainer/backends/cuda/runtime/warp.h"

#define MMA_COLUMNS 32
#define MMA_ROWS 8
#define MMA_PIXELS (MMA_COLUMNS * MMA_ROWS)
#define MMA_PITCH (MMA_COLUMNS + 2)
#define MMA_HALO (MMA_PITCH * (MMA_ROWS + 2)) /* pixels of a tile and those around it */
#define MMA_TAPS_3X3 9 /* of 3x3 */
#define MMA_TAPS_2X2 4
#define MMA_MAX_CHUNKS 8
#define MMA_MAX_ROW_TILES 5 /* of the 16 x 8 parts of dw one above the other, that a warp adds up */
#define MMA_PROLOGUE_ROWS 5

/* Coefficients per channel: coef[i * channels + c], of which each form takes its first ones. */
enum mma_prologue {
    MMA_PLAIN,    /* x */
    MMA_NORM_RELU, /* max(0, k0 x + k1) */
    MMA_NORM_GRAD, /* (k0 x + k1 > 0 ? k2 g : 0) + k3 x + k4: gradient of norm and ReLU on g */
    MMA_IMAGE      /* floats, up to 8 channels of them, which become a chunk with zeros */
};

/* Neighbouring channels of all pixels, which are a tensor by themselves. */
struct mma_part {
    const uint16_t *x, *g;
    const float *coef, *image; /* image: instead of x */
    unsigned channels;
    enum mma_prologue prologue;
};

/* The first part's channels, then the second's: a concatenation that is never written. With one
 * part second.channels is 0. */
struct mma_source {
    struct mma_part first, second;
};

enum mma_sums {
    MMA_NO_SUMS,
    MMA_SQUARES,  /* of y and y y */
    MMA_NORM_SUMS /* of g and g x, g being y where k0 x + k1 > 0 and else 0 */
};

struct mma_result {
    uint16_t *y;
    const uint16_t *x; /* MMA_NORM_SUMS: same place as y */
    const float *coef;
    unsigned channels;
};

struct mma_field {
    unsigned height, width;
    unsigned down, across, ntiles; /* tiles in a column and a row of an image; of all */
};

struct mma_args {
    struct mma_field field;
    struct mma_source src;
    const float *w, *bias; /* w[out * w_out + in * w_in + tap]; bias may be NULL */
    unsigned w_out, w_in, flip; /* flip: taps from the last one */
    unsigned nw; /* channels of the input that have weights: all but an image's zeros */
    struct mma_result first, second; /* as in mma_source */
    enum mma_sums sums_of;
    double *sums; /* [blocks][2][channels], of first and second together */
};

/* Bytes of shared memory. Planes differ by an odd number of 16 bytes, or by what keeps several
 * chunks of a pixel apart, modulo the 128 bytes that are read at a time. */
#define MMA_PAD(chunks) ((chunks) == 1 ? 0 : (chunks) == 2 ? 4 : (chunks) == 4 ? 2 : 1)
#define MMA_PLANE(n, chunks) ((n) / 8 * 8 + ((n) % 8 ? 8 : 0) + MMA_PAD(chunks))
#define MMA_STEPS(chunks, taps) (((taps) * (chunks) + 1) / 2) /* of 16 products */
#define MMA_WEIGHT_BYTES(ci, co, taps) (MMA_STEPS((ci) / 8, taps) * ((co) / 8) * WARP * 8)
#define MMA_HALO_BYTES(c) ((c) / 8 * MMA_PLANE(MMA_HALO, (c) / 8) * 16)
#define MMA_INNER_BYTES(c) ((c) / 8 * MMA_PLANE(MMA_PIXELS, (c) / 8) * 16)
#define MMA_LARGE_BYTES(c) ((c) / 8 * MMA_PLANE(4 * MMA_PIXELS, (c) / 8) * 16)
#define MMA_STAGE_BYTES(c) ((c) / 8 * MMA_PLANE(MMA_COLUMNS, (c) / 8) * 16) /* of a warp */
#define MMA_SUM_BYTES (TILE_BLOCK * 16 * 4)

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* Pixels from a row of the small side to the next, in a tile: 3x3, or the larger side of 2x2. */
INLINE_DEVICE unsigned mma_pitch(const unsigned taps)
{
    return taps == MMA_TAPS_3X3 ? MMA_PITCH : 4 * MMA_COLUMNS;
}

/* Pixels of a tile's plane. */
INLINE_DEVICE unsigned mma_plane(const unsigned chunks, const unsigned taps)
{
    return taps == MMA_TAPS_3X3 ? MMA_PLANE(MMA_HALO, chunks)
                               : MMA_PLANE(4 * MMA_PIXELS, chunks);
}

struct mma_place {
    unsigned image, row, column; /* of a tile's first pixel */
};

INLINE_DEVICE struct mma_place mma_place(const struct mma_field *f, unsigned tile)
{
    struct mma_place p;

    p.column = tile % f->across * MMA_COLUMNS;
    p.row = tile / f->across % f->down * MMA_ROWS;
    p.image = tile / f->across / f->down;
    return p;
}

/* Pixel i of a tile with `around` pixels around it, `pitch` in a row. -1 wraps. */
INLINE_DEVICE bool mma_pixel(const struct mma_field *f, struct mma_place p, unsigned i,
                             const unsigned pitch, const unsigned around, unsigned *pixel)
{
    unsigned y = p.row + i / pitch - around, x = p.column + i % pitch - around;

    *pixel = (p.image * f->height + y) * f->width + x;
    return y < f->height && x < f->width;
}

#endif

/* Channels of the source as a kernel is made for them. */
static inline unsigned mma_channels(const struct mma_source *s)
{
    return s->first.prologue == MMA_IMAGE ? 8 : s->first.channels + s->second.channels;
}

/* Tiles of a tensor [images][height][width]. */
static inline struct mma_field mma_field(unsigned images, unsigned height, unsigned width)
{
    struct mma_field f = {height, width, (height + MMA_ROWS - 1) / MMA_ROWS,
                          (width + MMA_COLUMNS - 1) / MMA_COLUMNS, 0};

    f.ntiles = images * f.down * f.across;
    return f;
}

#endif
