/* SPDX-License-Identifier: BSD-3-Clause */
/* A warp computes two rows of 64 pixels of the result from a row of 32 pixels of the source. The
 * weights stay in shared memory. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/conv/mma_transpose.h"

#include "trainer/backends/cuda/conv/mma_prologue.h"
#include "trainer/backends/cuda/conv/mma_row.h"

/* Per warp. */
#define TRANSPOSE_STAGING_BYTES(c) ((c) / 8 * MMA_PLANE(2 * MMA_COLUMNS, (c) / 8) * 16)
#define TRANSPOSE_BYTES(ci, co) \
    (MMA_WEIGHT_BYTES(ci, co, MMA_TAPS_2X2) + MMA_INNER_BYTES(ci) + \
     TILE_WARPS * TRANSPOSE_STAGING_BYTES(co))

INLINE_DEVICE void mma_transpose_fetch(const struct mma_args *k, unsigned tile, unsigned char *x,
                                       const unsigned chunks)
{
    mma_prologue_fetch(&k->src, &k->field, mma_position(&k->field, tile), x, NULL, chunks,
                       MMA_COLUMNS, MMA_ROWS, 0, MMA_PLANE(MMA_PIXELS, chunks));
}

/* Computes one tap of a row of 32 pixels: every second pixel of 64 in staging. */
INLINE_DEVICE void mma_transpose_multiply(const struct mma_args *k, const unsigned char *row,
                                          const unsigned char *packed, unsigned tap,
                                          unsigned char *staging, const unsigned ci,
                                          const unsigned co)
{
    const unsigned out = co / 8, plane = MMA_PLANE(MMA_PIXELS, ci / 8);
    const unsigned staging_plane = MMA_PLANE(2 * MMA_COLUMNS, out);
    unsigned lane = threadIdx.x % WARP;
    float sum[2][MMA_MAX_CHUNKS][4];

    UNROLL
    for (unsigned n = 0; n < out; n++)
        UNROLL
        for (unsigned j = 0; j < 8; j++)
            sum[j / 4][n][j % 4] = 0;
    UNROLL
    for (unsigned step = 0; step < ci / 16; step++) {
        const unsigned char *at = row + ((2 * step + lane / 16) * plane + lane % 16) * 16;
        unsigned a[2][4];

        warp_load(a[0], at);
        warp_load(a[1], at + 16 * 16);
        UNROLL
        for (unsigned n = 0; n < out; n++) {
            unsigned b[2];

            gpu8_load(b, packed + (((tap * (ci / 16) + step) * out + n) * WARP + lane) * 8);
            warp_multiply(sum[0][n], a[0], b);
            warp_multiply(sum[1][n], a[1], b);
        }
    }
    UNROLL
    for (unsigned n = 0; n < out; n++) {
        float low = k->bias ? k->bias[n * 8 + lane % 4 * 2] : 0;
        float high = k->bias ? k->bias[n * 8 + lane % 4 * 2 + 1] : 0;

        UNROLL
        for (unsigned half = 0; half < 4; half++) {
            const float *d = sum[half / 2][n] + half % 2 * 2;
            unsigned pixel = 2 * (half * 8 + lane / 4) + tap % 2;

            ((unsigned *)staging)[(n * staging_plane + pixel) * 4 + lane % 4] =
                bf16_pair(d[0] + low, d[1] + high);
        }
    }
}

INLINE_DEVICE void mma_transpose_write(const struct mma_args *k, struct mma_position p,
                                       unsigned row, const unsigned char *staging,
                                       const unsigned co)
{
    const unsigned out = co / 8, plane = MMA_PLANE(2 * MMA_COLUMNS, out);
    unsigned lane = threadIdx.x % WARP, chunk = lane % out;
    unsigned height = 2 * k->field.height, width = 2 * k->field.width;

    NO_UNROLL
    for (unsigned i = lane / out; i < 2 * MMA_COLUMNS; i += WARP / out) {
        unsigned x = 2 * p.column + i;

        if (row < height && x < width)
            gpu16_store(k->first.y + (((size_t)p.image * height + row) * width + x) * co +
                            chunk * 8,
                        gpu16_load(staging + (chunk * plane + i) * 16));
    }
}

INLINE_DEVICE void mma_transpose(const struct mma_args *k, const unsigned ci, const unsigned co)
{
    TILE_SHARED(shared);
    unsigned warp = threadIdx.x / WARP;
    unsigned char *packed = shared, *x = packed + MMA_WEIGHT_BYTES(ci, co, MMA_TAPS_2X2);
    unsigned char *staging = x + MMA_INNER_BYTES(ci) + warp * TRANSPOSE_STAGING_BYTES(co);

    if (blockIdx.x < k->field.ntiles) {
        mma_row_fetch_weights(k, packed, MMA_WEIGHT_BYTES(ci, co, MMA_TAPS_2X2));
        mma_transpose_fetch(k, blockIdx.x, x, ci / 8);
    }
    for (unsigned tile = blockIdx.x; tile < k->field.ntiles; tile += gridDim.x) {
        struct mma_position p = mma_position(&k->field, tile);

        async_wait();
        BARRIER();
        mma_prologue_apply(&k->src, &k->field, p, x, NULL, ci / 8, MMA_COLUMNS, MMA_ROWS, 0,
                           MMA_PLANE(MMA_PIXELS, ci / 8));
        BARRIER();
        NO_UNROLL
        for (unsigned up = 0; up < 2; up++) {
            NO_UNROLL
            for (unsigned side = 0; side < 2; side++)
                mma_transpose_multiply(k, x + warp * MMA_COLUMNS * 16, packed, 2 * up + side,
                                       staging, ci, co);
            warp_sync();
            mma_transpose_write(k, p, 2 * (p.row + warp) + up, staging, co);
            warp_sync();
        }
        BARRIER();
        if (tile + gridDim.x < k->field.ntiles)
            mma_transpose_fetch(k, tile + gridDim.x, x, ci / 8);
    }
}

#define TRANSPOSE(ci, co, nblocks)                                  \
    KERNEL_TILE(mma_transpose_##ci##_##co, mma_args, nblocks) \
    {                                                        \
        mma_transpose(&k, ci, co);                               \
    }

/* The last argument is the most resident blocks that mma_transpose_resident returns. */
TRANSPOSE(16, 8, 4)
TRANSPOSE(32, 16, 4)
TRANSPOSE(64, 32, 2)

C_BEGIN

unsigned mma_transpose_resident(unsigned in, unsigned out)
{
    unsigned n = in != 2 * out || (out != 8 && out != 16 && out != 32) ? 0 : out == 32 ? 2 : 4;

    return cuda_fit(n, TRANSPOSE_BYTES(in, out));
}

#define RUN_TRANSPOSE(ci, co)             \
    if (in == (ci) && out == (co)) \
    LAUNCH_TILE(mma_transpose_##ci##_##co, nblocks, TRANSPOSE_BYTES(ci, co), stream, *k)

void mma_transpose_run(const struct mma_args *k, unsigned nblocks, cudaStream_t stream)
{
    unsigned in = mma_channels(&k->src), out = k->first.channels;

    RUN_TRANSPOSE(16, 8);
    RUN_TRANSPOSE(32, 16);
    RUN_TRANSPOSE(64, 32);
}

C_END
