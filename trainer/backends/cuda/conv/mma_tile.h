/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions on tensor cores for few channels (8 to 64): 3x3, and 2x2 transposed with stride 2.
 * Activations are bfloat16, NHWC; sums are in float; weights are floats that pack.cu has rounded
 * and brought into another order. Channels come in chunks of 8, which are 16 bytes.
 *
 * A block computes tiles of MMA_COLUMNS x MMA_ROWS pixels one after the other. A tile, with the
 * pixels around it, lies in shared memory by chunks: chunk q of pixel p is at (q * plane + p) * 16,
 * so that eight neighbours are read without bank conflicts. The next tile is copied while this one
 * is computed, where shared memory has room for both.
 *
 * The prologue of a source (enum mma_prologue, mma_prologue.h) applies a norm and ReLU, or a norm's
 * gradient, which then cost no pass of their own. The epilogue (mma_row.h) adds up the sums of a
 * result for the norm behind it, in a fixed order. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TILE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_TILE_H

#include "trainer/backends/cuda/runtime/warp.h"

#define MMA_COLUMNS 32
#define MMA_ROWS 8
#define MMA_PIXELS (MMA_COLUMNS * MMA_ROWS)
#define MMA_PITCH (MMA_COLUMNS + 2)
#define MMA_HALO (MMA_PITCH * (MMA_ROWS + 2)) /* pixels of a tile with those around it */
#define MMA_TAPS_3X3 9
#define MMA_TAPS_2X2 4
#define MMA_MAX_CHUNKS 8
#define MMA_MAX_ROW_TILES 5 /* tiles of 16 rows of dw that a warp adds up */
#define MMA_PROLOGUE_ROWS 5

/* What is read in place of x. k_i = coef[i * channels + c]; each kind has as many as it names. */
enum mma_prologue {
    MMA_PLAIN,    /* x */
    MMA_NORM_RELU, /* max(0, k0 x + k1) */
    MMA_NORM_GRAD, /* (k0 x + k1 > 0 ? k2 g : 0) + k3 x + k4: the gradient of a norm and ReLU */
    MMA_IMAGE      /* floats of up to 8 channels, padded with zeros to a chunk */
};

/* A tensor with some of the channels of a source. */
struct mma_part {
    const uint16_t *x, *g;
    const float *coef, *image; /* image: in place of x */
    unsigned channels;
    enum mma_prologue prologue;
};

/* The channels of first, then those of second: a concatenation that is not in memory. With one part
 * second.channels is 0. */
struct mma_source {
    struct mma_part first, second;
};

enum mma_sums {
    MMA_NO_SUMS,
    MMA_SQUARES,  /* of y and y y */
    MMA_NORM_SUMS /* of g and g x, where g is y if k0 x + k1 > 0, else 0 */
};

struct mma_result {
    uint16_t *y;
    const uint16_t *x; /* for MMA_NORM_SUMS, of the shape of y */
    const float *coef;
    unsigned channels;
};

struct mma_field {
    unsigned height, width;
    unsigned down, across, ntiles; /* tiles in a column and in a row of an image; of all images */
};

struct mma_args {
    struct mma_field field;
    struct mma_source src;
    const void *packed; /* the weights (PACK_MMA) */
    const float *bias;  /* may be NULL */
    unsigned relu; /* negative results become 0 */
    struct mma_result first, second; /* as in mma_source */
    enum mma_sums sums_of;
    double *sums; /* [blocks][2][channels of first and second] */
};

/* Sizes in shared memory: in bytes where the name says so, of a plane in pixels. Planes are padded
 * so that their distance keeps the chunks that are read together in different banks (modulo 128
 * bytes). */
#define MMA_PAD(chunks) ((chunks) == 1 ? 0 : (chunks) == 2 ? 4 : (chunks) == 4 ? 2 : 1)
#define MMA_PLANE(n, chunks) ((n) / 8 * 8 + ((n) % 8 ? 8 : 0) + MMA_PAD(chunks))
#define MMA_STEPS(chunks, taps) (((taps) * (chunks) + 1) / 2) /* of 16 products each */
#define MMA_WEIGHT_BYTES(ci, co, taps) (MMA_STEPS((ci) / 8, taps) * ((co) / 8) * WARP * 8)
#define MMA_HALO_BYTES(c) ((c) / 8 * MMA_PLANE(MMA_HALO, (c) / 8) * 16)
#define MMA_INNER_BYTES(c) ((c) / 8 * MMA_PLANE(MMA_PIXELS, (c) / 8) * 16)
#define MMA_LARGE_BYTES(c) ((c) / 8 * MMA_PLANE(4 * MMA_PIXELS, (c) / 8) * 16)
#define MMA_STAGING_BYTES(c) ((c) / 8 * MMA_PLANE(MMA_COLUMNS, (c) / 8) * 16) /* per warp */
/* For gpu_rows_sum of up to 16 numbers per thread, in rows of up to MMA_MAX_CHUNKS. */
#define MMA_SUM_BYTES ((TILE_BLOCK + MMA_MAX_CHUNKS) * 16 * 4)

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* Returns the distance in pixels, in a tile, of the rows of a 3x3 source, or of what belongs to two
 * rows of the smaller side of a 2x2 convolution. */
INLINE_DEVICE unsigned mma_pitch(const unsigned taps)
{
    return taps == MMA_TAPS_3X3 ? MMA_PITCH : 4 * MMA_COLUMNS;
}

/* Returns the pixels of a plane with its padding. */
INLINE_DEVICE unsigned mma_plane(const unsigned chunks, const unsigned taps)
{
    return taps == MMA_TAPS_3X3 ? MMA_PLANE(MMA_HALO, chunks)
                               : MMA_PLANE(4 * MMA_PIXELS, chunks);
}

struct mma_position {
    unsigned image, row, column; /* of the first pixel of a tile */
};

INLINE_DEVICE struct mma_position mma_position(const struct mma_field *f, unsigned tile)
{
    struct mma_position p;

    p.column = tile % f->across * MMA_COLUMNS;
    p.row = tile / f->across % f->down * MMA_ROWS;
    p.image = tile / f->across / f->down;
    return p;
}

/* Sets *pixel to the index in the tensor of pixel i of a tile that has `around` pixels around it
 * and `pitch` in a row. Returns false, with a meaningless *pixel, outside of the image; coordinates
 * below 0 wrap around. */
INLINE_DEVICE bool mma_pixel(const struct mma_field *f, struct mma_position p, unsigned i,
                             const unsigned pitch, const unsigned around, unsigned *pixel)
{
    unsigned y = p.row + i / pitch - around, x = p.column + i % pitch - around;

    *pixel = (p.image * f->height + y) * f->width + x;
    return y < f->height && x < f->width;
}

#endif

/* Returns the channels of a source with the padding of an image. */
static inline unsigned mma_channels(const struct mma_source *s)
{
    return s->first.prologue == MMA_IMAGE ? 8 : s->first.channels + s->second.channels;
}

/* Returns the tiles of a tensor [images][height][width]. */
static inline struct mma_field mma_field(unsigned images, unsigned height, unsigned width)
{
    struct mma_field f = {height, width, (height + MMA_ROWS - 1) / MMA_ROWS,
                          (width + MMA_COLUMNS - 1) / MMA_COLUMNS, 0};

    f.ntiles = images * f.down * f.across;
    return f;
}

#endif
