/* SPDX-License-Identifier: BSD-3-Clause */
/* Forward, and the gradient of the input where that of the weights is made elsewhere (narrow.h). */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/conv/narrow_conv.h"

#include "trainer/backends/cuda/conv/narrow_in.h"
#include "trainer/backends/cuda/conv/narrow_row.h"

/* Tile buffers: 2 (double buffering) where both fit beside the weights. */
#define CONV_STAGES(ci) ((ci) < 64 ? 2 : 1)
#define CONV_BYTES(ci, co)                                                           \
    (NARROW_WEIGHT_BYTES(ci, co, NARROW_TAPS) + CONV_STAGES(ci) * NARROW_HALO_BYTES(ci) + \
     TILE_WARPS * NARROW_STAGE_BYTES(co))
#define CONV_SHARED(ci, co)                                                                        \
    (CONV_BYTES(ci, co) > NARROW_SUM_BYTES ? CONV_BYTES(ci, co) : NARROW_SUM_BYTES)

INLINE_DEVICE void conv_fetch(const struct narrow_args *k, unsigned tile, unsigned char *x,
                              const unsigned chunks)
{
    narrow_in_fetch(&k->src, &k->field, narrow_place(&k->field, tile), x, NULL, chunks,
                    NARROW_PITCH, NARROW_ROWS + 2, 1, NARROW_PLANE(NARROW_HALO, chunks));
}

INLINE_DEVICE void narrow_conv(const struct narrow_args *k, const unsigned ci, const unsigned co)
{
    TILE_SHARED(shared);
    unsigned char *packed = shared, *tiles = packed + NARROW_WEIGHT_BYTES(ci, co, NARROW_TAPS);
    unsigned char *stage = tiles + CONV_STAGES(ci) * NARROW_HALO_BYTES(ci) +
                           threadIdx.x / WARP * NARROW_STAGE_BYTES(co);
    struct narrow_row_totals totals = {{0}, {0}};
    unsigned char *x = tiles, *next = tiles + (CONV_STAGES(ci) - 1) * NARROW_HALO_BYTES(ci);

    narrow_row_pack(k, packed, ci, co, NARROW_TAPS);
    if (blockIdx.x < k->field.ntiles)
        conv_fetch(k, blockIdx.x, x, ci / 8);
    for (unsigned tile = blockIdx.x; tile < k->field.ntiles; tile += gridDim.x) {
        struct narrow_place p = narrow_place(&k->field, tile);
        unsigned char *swap = x;

        async_wait();
        narrow_in_form(&k->src, &k->field, p, x, NULL, ci / 8, NARROW_PITCH, NARROW_ROWS + 2, 1,
                       NARROW_PLANE(NARROW_HALO, ci / 8));
        BARRIER();
        if (CONV_STAGES(ci) > 1 && tile + gridDim.x < k->field.ntiles)
            conv_fetch(k, tile + gridDim.x, next, ci / 8);
        for (unsigned row = threadIdx.x / WARP; row < NARROW_ROWS; row += TILE_WARPS) {
            float sum[2][NARROW_MAX_CHUNKS][4];

            narrow_row_multiply(sum, x, packed, row, ci, co, NARROW_TAPS);
            narrow_row_write(k, p, row, sum, stage, &totals, co);
        }
        x = next;
        next = swap;
        if (CONV_STAGES(ci) == 1) {
            BARRIER();
            if (tile + gridDim.x < k->field.ntiles)
                conv_fetch(k, tile + gridDim.x, x, ci / 8);
        }
    }
    narrow_row_finish_sums(k, &totals, shared, co);
}

#define CONV(ci, co, nblocks)                              \
    KERNEL_TILE(narrow_conv_##ci##_##co, narrow_args, nblocks) \
    {                                                      \
        narrow_conv(&k, ci, co);                           \
    }

/* Blocks as narrow_conv_resident has them. */
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
CONV(64, 64, 1)

C_BEGIN

unsigned narrow_conv_resident(unsigned in, unsigned out)
{
    bool is_power = in == 8 || in == 16 || in == 32 || in == 64;
    bool is_first = in == 8 && (out == 32 || out == 64); /* of an image */

    if (!is_power || (out != in && out != 2 * in && 2 * out != in && !is_first) || out > 64)
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
    LAUNCH_TILE(narrow_conv_##ci##_##co, nblocks,                                     \
                CONV_SHARED(ci, co), stream, *k)

void narrow_conv_run(const struct narrow_args *k, unsigned nblocks, cudaStream_t stream)
{
    unsigned in = narrow_channels(&k->src);
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
    RUN_CONV(64, 64);
}

C_END
