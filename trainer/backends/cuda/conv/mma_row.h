/* SPDX-License-Identifier: BSD-3-Clause */
/* A row of a result from a tile in shared memory: its products with the weights, and the epilogue,
 * which writes the row and adds up its sums (mma_tile.h). Included by kernels only. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_ROW_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_MMA_ROW_H

#include "trainer/backends/cuda/conv/mma_tile.h"

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* Starts to copy the packed weights. */
INLINE_DEVICE void mma_row_fetch_weights(const struct mma_args *k, unsigned char *dst,
                                         const unsigned nbytes)
{
    NO_UNROLL
    for (unsigned i = threadIdx.x * 16; i < nbytes; i += TILE_BLOCK * 16)
        async_copy(dst + i, (const unsigned char *)k->packed + i, true);
}

/* Returns the offset, in chunks, of pair q of tap and chunk from the first chunk of a pixel. */
INLINE_DEVICE unsigned mma_row_offset(const unsigned q, const unsigned chunks,
                                      const unsigned taps)
{
    const unsigned last = taps * chunks - 1, at = q < last ? q : last, tap = at / chunks;

    return at % chunks * mma_plane(chunks, taps) +
           (taps == MMA_TAPS_3X3 ? tap / 3 * MMA_PITCH + tap % 3 : tap * MMA_COLUMNS);
}

/* Multiplies a row of 32 pixels with the weights: sum[half of the row][chunk of the result], as
 * warp_multiply has D. */
INLINE_DEVICE void mma_row_multiply(float sum[2][MMA_MAX_CHUNKS][4],
                                    const unsigned char *tile, const unsigned char *packed,
                                    unsigned row, const unsigned ci, const unsigned co,
                                    const unsigned taps)
{
    const unsigned in = ci / 8, out = co / 8;
    unsigned lane = threadIdx.x % WARP;
    const unsigned char *own = tile + (row * mma_pitch(taps) + lane % 16) * 16;

    UNROLL
    for (unsigned half = 0; half < 2; half++)
        UNROLL
        for (unsigned n = 0; n < out; n++)
            UNROLL
            for (unsigned j = 0; j < 4; j++)
                sum[half][n][j] = 0;
    UNROLL
    for (unsigned step = 0; step < MMA_STEPS(in, taps); step++) {
        const unsigned even = mma_row_offset(2 * step, in, taps);
        const unsigned odd = mma_row_offset(2 * step + 1, in, taps);
        const unsigned char *at = own + (lane < 16 ? even : odd) * 16;
        unsigned a[2][4];

        warp_load(a[0], at);
        warp_load(a[1], at + 16 * 16);
        UNROLL
        for (unsigned n = 0; n < out; n++) {
            const unsigned *b = (const unsigned *)packed + ((step * out + n) * WARP + lane) * 2;
            unsigned pair[2];

            pair[0] = b[0];
            pair[1] = b[1];
            warp_multiply(sum[0][n], a[0], pair);
            warp_multiply(sum[1][n], a[1], pair);
        }
    }
}

/* The sums of the chunk that a thread writes, over its pixels of all tiles of the block. */
struct mma_row_totals {
    float sum[8], product[8];
};

INLINE_DEVICE void mma_row_add(struct mma_row_totals *t, const unsigned j, float y, float x)
{
    t->sum[j] += y;
    t->product[j] = fmaf(y, x, t->product[j]);
}

/* Writes a row of a tile, with bias and ReLU, to its tensor, through the warp's part of shared
 * memory, and adds it to the thread's totals. */
INLINE_DEVICE void mma_row_write(const struct mma_args *k, struct mma_position p,
                                 unsigned row, float sum[2][MMA_MAX_CHUNKS][4],
                                 unsigned char *staging, struct mma_row_totals *totals,
                                 const unsigned co)
{
    const unsigned out = co / 8, plane = MMA_PLANE(MMA_COLUMNS, out);
    unsigned lane = threadIdx.x % WARP, own = lane % out, chunk = own;
    bool is_first = chunk < k->first.channels / 8;
    uint16_t *y = is_first ? k->first.y : k->second.y;
    unsigned channels = is_first ? k->first.channels : k->second.channels;

    UNROLL
    for (unsigned n = 0; n < out; n++) {
        float low = k->bias ? k->bias[n * 8 + lane % 4 * 2] : 0;
        float high = k->bias ? k->bias[n * 8 + lane % 4 * 2 + 1] : 0;

        UNROLL
        for (unsigned half = 0; half < 4; half++) {
            const float *d = sum[half / 2][n] + half % 2 * 2;

            ((unsigned *)staging)[(n * plane + half * 8 + lane / 4) * 4 + lane % 4] =
                bf16_pair(d[0] + low, d[1] + high);
        }
    }
    chunk -= is_first ? 0 : k->first.channels / 8;
    warp_sync();
    NO_UNROLL
    for (unsigned i = lane / out; i < MMA_COLUMNS; i += WARP / out) {
        size_t at =
            ((size_t)(p.image * k->field.height + p.row + row) * k->field.width + p.column + i) *
                channels +
            chunk * 8;

        if (p.row + row >= k->field.height || p.column + i >= k->field.width)
            continue;
        struct gpu16 v = gpu16_load(staging + (own * plane + i) * 16);
        if (k->relu) {
            UNROLL
            for (unsigned j = 0; j < 4; j++)
                v.word[j] &= ~((v.word[j] >> 15 & 0x10001u) * 0xffffu);
        }
        gpu16_store(y + at, v);
        if (k->sums_of == MMA_SQUARES) {
            UNROLL
            for (unsigned j = 0; j < 4; j++) {
                mma_row_add(totals, 2 * j, bf16_low(v.word[j]), bf16_low(v.word[j]));
                mma_row_add(totals, 2 * j + 1, bf16_high(v.word[j]), bf16_high(v.word[j]));
            }
        } else if (k->sums_of == MMA_NORM_SUMS) {
            struct gpu16 u = gpu16_load((is_first ? k->first.x : k->second.x) + at);
            const float *c = (is_first ? k->first.coef : k->second.coef) + chunk * 8;

            UNROLL
            for (unsigned j = 0; j < 4; j++) {
                float low = bf16_low(u.word[j]), high = bf16_high(u.word[j]);

                if (fmaf(c[2 * j], low, c[channels + 2 * j]) > 0)
                    mma_row_add(totals, 2 * j, bf16_low(v.word[j]), low);
                if (fmaf(c[2 * j + 1], high, c[channels + 2 * j + 1]) > 0)
                    mma_row_add(totals, 2 * j + 1, bf16_high(v.word[j]), high);
            }
        }
    }
    warp_sync();
}

/* Adds up the sums of the block's threads, if any, in a fixed order. scratch: MMA_SUM_BYTES of
 * shared memory that are no longer in use. */
INLINE_DEVICE void mma_row_finish_sums(const struct mma_args *k,
                                       const struct mma_row_totals *totals,
                                       unsigned char *scratch, const unsigned co)
{
    const unsigned out = co / 8, pitch = gpu_rows_pitch(TILE_BLOCK, out);
    float *values = (float *)scratch;

    if (k->sums_of == MMA_NO_SUMS)
        return;
    BARRIER();
    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        values[j * pitch + threadIdx.x] = totals->sum[j];
        values[(8 + j) * pitch + threadIdx.x] = totals->product[j];
    }
    BARRIER();
    for (unsigned i = threadIdx.x; i < 16 * out; i += TILE_BLOCK) {
        unsigned j = i / out, c = i % out * 8 + j % 8;

        k->sums[(blockIdx.x * 2 + j / 8) * co + c] =
            gpu_rows_sum(values, pitch, i, out, TILE_BLOCK / out);
    }
}

#endif

#endif
