/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions on tensor cores (mma_tile.h): forward, and the gradient of the input where
 * another kernel computes that of the weights. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/conv/mma_conv.h"

#include "trainer/backends/cuda/conv/mma_prologue.h"
#include "trainer/backends/cuda/conv/mma_row.h"

/* Tile buffers: 2 (double buffering) where both fit beside the weights. */
#define CONV_STAGES(ci) ((ci) < 64 ? 2 : 1)
#define CONV_BYTES(ci, co)                                                           \
    (MMA_WEIGHT_BYTES(ci, co, MMA_TAPS_3X3) + CONV_STAGES(ci) * MMA_HALO_BYTES(ci) + \
     TILE_WARPS * MMA_STAGING_BYTES(co))
#define CONV_SHARED(ci, co)                                                                        \
    (CONV_BYTES(ci, co) > MMA_SUM_BYTES ? CONV_BYTES(ci, co) : MMA_SUM_BYTES)

INLINE_DEVICE void conv_fetch(const struct mma_args *k, unsigned tile, unsigned char *x,
                              const unsigned chunks)
{
    mma_prologue_fetch(&k->src, &k->field, mma_position(&k->field, tile), x, NULL, chunks,
                       MMA_PITCH, MMA_ROWS + 2, 1, MMA_PLANE(MMA_HALO, chunks));
}

INLINE_DEVICE void mma_conv(const struct mma_args *k, const unsigned ci, const unsigned co)
{
    TILE_SHARED(shared);
    unsigned char *packed = shared, *tiles = packed + MMA_WEIGHT_BYTES(ci, co, MMA_TAPS_3X3);
    unsigned char *staging = tiles + CONV_STAGES(ci) * MMA_HALO_BYTES(ci) +
                           threadIdx.x / WARP * MMA_STAGING_BYTES(co);
    struct mma_row_totals totals = {{0}, {0}};
    unsigned char *x = tiles, *next = tiles + (CONV_STAGES(ci) - 1) * MMA_HALO_BYTES(ci);

    if (blockIdx.x < k->field.ntiles) {
        mma_row_fetch_weights(k, packed, MMA_WEIGHT_BYTES(ci, co, MMA_TAPS_3X3));
        conv_fetch(k, blockIdx.x, x, ci / 8);
    }
    for (unsigned tile = blockIdx.x; tile < k->field.ntiles; tile += gridDim.x) {
        struct mma_position p = mma_position(&k->field, tile);
        unsigned char *swap = x;

        async_wait();
        BARRIER();
        mma_prologue_apply(&k->src, &k->field, p, x, NULL, ci / 8, MMA_PITCH, MMA_ROWS + 2, 1,
                           MMA_PLANE(MMA_HALO, ci / 8));
        BARRIER();
        if (CONV_STAGES(ci) > 1 && tile + gridDim.x < k->field.ntiles)
            conv_fetch(k, tile + gridDim.x, next, ci / 8);
        for (unsigned row = threadIdx.x / WARP; row < MMA_ROWS; row += TILE_WARPS) {
            float sum[2][MMA_MAX_CHUNKS][4];

            mma_row_multiply(sum, x, packed, row, ci, co, MMA_TAPS_3X3);
            mma_row_write(k, p, row, sum, staging, &totals, co);
        }
        x = next;
        next = swap;
        if (CONV_STAGES(ci) == 1) {
            BARRIER();
            if (tile + gridDim.x < k->field.ntiles)
                conv_fetch(k, tile + gridDim.x, x, ci / 8);
        }
    }
    mma_row_finish_sums(k, &totals, shared, co);
}

#define CONV(ci, co, nblocks)                              \
    KERNEL_TILE(mma_conv_##ci##_##co, mma_args, nblocks) \
    {                                                      \
        mma_conv(&k, ci, co);                           \
    }

/* The last argument is the most resident blocks that mma_conv_resident returns. */
CONV(8, 8, 4)
CONV(8, 16, 3)
CONV(8, 32, 2)
CONV(8, 64, 1)
CONV(16, 8, 4)
CONV(16, 16, 3)
CONV(16, 32, 2)
CONV(32, 16, 2)
CONV(32, 32, 2)
CONV(32, 64, 1)
CONV(64, 32, 1)

C_BEGIN

unsigned mma_conv_resident(unsigned in, unsigned out)
{
    bool is_power = in == 8 || in == 16 || in == 32 || in == 64;
    bool is_first = in == 8 && (out == 32 || out == 64); /* of an image */

    if (!is_power || (out != in && out != 2 * in && 2 * out != in && !is_first) || out > 64 ||
        in * out > 2048)
        return 0;
    unsigned n = out < 8                                    ? 0
                 : in * out <= 64 || (in == 16 && out == 8) ? 4
                 : is_first                                 ? 512 / in / out
                 : in * out <= 256                          ? 3
                 : in * out <= 1024                         ? 2
                                                            : 1;
    return cuda_fit(n, CONV_SHARED(in, out));
}

#define RUN_CONV(ci, co)                                                                   \
    if (in == (ci) && out == (co))                                                    \
    LAUNCH_TILE(mma_conv_##ci##_##co, nblocks,                                     \
                CONV_SHARED(ci, co), stream, *k)

void mma_conv_run(const struct mma_args *k, unsigned nblocks, cudaStream_t stream)
{
    unsigned in = mma_channels(&k->src);
    unsigned out = k->first.channels + k->second.channels;

    RUN_CONV(8, 8);
    RUN_CONV(8, 16);
    RUN_CONV(8, 32);
    RUN_CONV(8, 64);
    RUN_CONV(16, 8);
    RUN_CONV(16, 16);
    RUN_CONV(16, 32);
    RUN_CONV(32, 16);
    RUN_CONV(32, 32);
    RUN_CONV(32, 64);
    RUN_CONV(64, 32);
}

C_END
