/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/norm/norm_rows.h"

#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* A block sums up one part of the pixels. Its threads form rows, each with the channels of one
 * pixel. Of more channels than threads the block takes GPU_BLOCK at a time. */
DEVICE void sum_pixels_as(const struct norm_sum_args *k, unsigned type)
{
    SHARED double sum[GPU_BLOCK], product[GPU_BLOCK];
    unsigned part = blockIdx.x, t = threadIdx.x, each = (k->npixels + k->nparts - 1) / k->nparts;
    unsigned begin = part * each, end = begin + each < k->npixels ? begin + each : k->npixels;

    for (unsigned first = 0; first < k->channels; first += GPU_BLOCK) {
        unsigned width = k->channels - first < GPU_BLOCK ? k->channels - first : GPU_BLOCK;
        unsigned rows = GPU_BLOCK / width, row = t / width, c = first + t % width;
        struct norm_line l = {0, 0};
        double s = 0, p = 0;

        if (k->gamma && row < rows)
            l = norm_line(k->gamma[c], k->beta[c], k->saved[c], k->saved[k->channels + c]);
        for (unsigned i = begin + row; row < rows && i < end; i += rows) {
            float v = gpu_load(k->v, i * k->channels + c, type);
            double u = !k->gamma || fmaf(l.scale, v, l.shift) > 0
                           ? (double)gpu_load(k->u, i * k->channels + c, type) : 0;

            s += u;
            p += u * (double)v;
        }
        sum[t] = s;
        product[t] = p;
        BARRIER();
        if (row == 0) {
            for (unsigned r = 1; r < rows; r++) {
                s += sum[r * width + t];
                p += product[r * width + t];
            }
            k->partials[2 * part * k->channels + c] = s;
            k->partials[(2 * part + 1) * k->channels + c] = p;
        }
        BARRIER();
    }
}

DEVICE void apply_as(const struct norm_apply_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned c = i % k->channels;
        float v = k->v ? gpu_load(k->v, i, type) : 0;
        bool counts = !k->mask || fmaf(k->mask[c], v, k->mask[k->channels + c]) > 0;
        float u = counts ? gpu_load(k->u, i, type) : 0;
        float y = k->a[c] * u + (k->v ? k->b[c] * v + k->c[c] : k->c[c]);

        gpu_store(k->dst, i, type, k->relu && !(y > 0) ? 0 : y);
    }
}

TYPED_KERNEL_BLOCK(sum_pixels, norm_sum_args)
TYPED_KERNEL(apply, norm_apply_args)

C_BEGIN

void norm_sum(unsigned type, const struct norm_sum_args *k, cudaStream_t stream)
{
    LAUNCH_AS(type, sum_pixels, k->nparts, stream, *k);
}

void norm_apply(unsigned type, const struct norm_apply_args *k, cudaStream_t stream)
{
    LAUNCH_AS(type, apply, gpu_blocks(k->n), stream, *k);
}

C_END
