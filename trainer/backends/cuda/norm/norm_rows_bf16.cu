/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes of norm_rows.h over bfloat16, 16 bytes at a time: a chunk is 8 channels of a pixel.
 * Arithmetic and the sums of a thread are in float, sums over threads in double. */
#include "config.h"
#include "trainer/backends/cuda/norm/norm_rows.h"

#include "trainer/backends/cuda/runtime/warp.h"

#define CHUNK_SUMS 16 /* of a chunk: 8 of u, then 8 of u v */

DEVICE void add_number(float *sums, unsigned j, float u, float v, bool masks,
                       const struct norm_line *l)
{
    if (masks && !(fmaf(l[j].scale, v, l[j].shift) > 0))
        return;
    sums[j] += u;
    sums[8 + j] = fmaf(u, v, sums[8 + j]);
}

/* A block sums up one part of the pixels. Its threads form rows, each with the chunks of one pixel.
 * Of more chunks than threads the block takes GPU_BLOCK at a time. */
KERNEL_BLOCK(norm_sum_chunks, norm_sum_args)
{
    SHARED float values[GPU_ROWS(CHUNK_SUMS)];
    const uint16_t *u_of = (const uint16_t *)k.u, *v_of = (const uint16_t *)k.v;
    unsigned part = blockIdx.x, t = threadIdx.x, chunks = k.channels / 8;
    unsigned each = (k.npixels + k.nparts - 1) / k.nparts, begin = part * each;
    unsigned end = begin + each < k.npixels ? begin + each : k.npixels;

    for (unsigned first = 0; first < chunks; first += GPU_BLOCK) {
        unsigned width = chunks - first < GPU_BLOCK ? chunks - first : GPU_BLOCK;
        unsigned rows = GPU_BLOCK / width, row = t / width, chunk = first + t % width;
        unsigned pitch = gpu_rows_pitch(GPU_BLOCK, width);
        struct norm_line l[8] = {{0, 0}};
        bool masks = k.gamma != NULL;
        float sums[CHUNK_SUMS] = {0};

        UNROLL
        for (unsigned j = 0; j < 8; j++) {
            unsigned c = chunk * 8 + j;

            if (masks && row < rows)
                l[j] = norm_line(k.gamma[c], k.beta[c], k.saved[c], k.saved[k.channels + c]);
        }
        for (unsigned i = begin + row; row < rows && i < end; i += rows) {
            struct gpu16 u = gpu16_load(u_of + (size_t)i * k.channels + chunk * 8);
            struct gpu16 v = gpu16_load(v_of + (size_t)i * k.channels + chunk * 8);

            UNROLL
            for (unsigned j = 0; j < 4; j++) {
                add_number(sums, 2 * j, bf16_low(u.word[j]), bf16_low(v.word[j]), masks, l);
                add_number(sums, 2 * j + 1, bf16_high(u.word[j]), bf16_high(v.word[j]),
                           masks, l);
            }
        }
        UNROLL
        for (unsigned j = 0; j < CHUNK_SUMS; j++)
            values[j * pitch + t] = sums[j];
        BARRIER();
        for (unsigned i = t; i < CHUNK_SUMS * width; i += GPU_BLOCK) {
            unsigned j = i / width, column = i % width;

            k.partials[(2 * part + j / 8) * k.channels + (first + column) * 8 + j % 8] =
                gpu_rows_sum(values, pitch, i, width, rows);
        }
        BARRIER();
    }
}

DEVICE float apply_number(const struct norm_apply_args *k, unsigned c, float u, float v)
{
    if (k->mask && !(fmaf(k->mask[c], v, k->mask[k->channels + c]) > 0))
        u = 0;
    float y = fmaf(k->a[c], u, k->v ? fmaf(k->b[c], v, k->c[c]) : k->c[c]);
    return k->relu ? fmaxf(y, 0.f) : y;
}

KERNEL(norm_apply_chunks, norm_apply_args)
{
    for (unsigned i = gpu_index(); i < k.n / 8; i += gpu_stride()) {
        unsigned c = i % (k.channels / 8) * 8;
        struct gpu16 u = gpu16_load((const uint16_t *)k.u + (size_t)i * 8), v = u;

        if (k.v)
            v = gpu16_load((const uint16_t *)k.v + (size_t)i * 8);
        UNROLL
        for (unsigned j = 0; j < 4; j++)
            u.word[j] = bf16_pair(
                apply_number(&k, c + 2 * j, bf16_low(u.word[j]), bf16_low(v.word[j])),
                apply_number(&k, c + 2 * j + 1, bf16_high(u.word[j]), bf16_high(v.word[j])));
        gpu16_store((uint16_t *)k.dst + (size_t)i * 8, u);
    }
}

C_BEGIN

void norm_sum_bf16(const struct norm_sum_args *k, cudaStream_t stream)
{
    LAUNCH(norm_sum_chunks, k->nparts, stream, *k);
}

void norm_apply_bf16(const struct norm_apply_args *k, cudaStream_t stream)
{
    LAUNCH(norm_apply_chunks, gpu_blocks(k->n / 8), stream, *k);
}

C_END
