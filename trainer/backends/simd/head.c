/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/head.h"

#include <string.h>

#include "trainer/backends/ref/chunks.h"

#define MAX_CHANNELS 256

bool head_supports(const struct op *op, const struct tensor *x, const struct tensor *y)
{
    return op->attr.kernel == 1 && op->attr.stride <= 1 && tensor_channels(y) == 1 &&
           tensor_channels(x) % HEAD_LANES == 0 && tensor_channels(x) <= MAX_CHANNELS;
}

/* Workspace: [CHUNKS][channels + 1] sums, the last of dy alone. */
int head_prepare(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = CHUNKS * (tensor_channels(op->in[1]) + 1) * sizeof(double);
    return 0;
}

static void sum_chunk(const struct op *op, size_t begin, size_t end, head_gather_f *gather,
                      double *sums)
{
    const struct tensor *x = op->in[1];
    const float *dy = op->in[0]->data;
    size_t n = tensor_channels(x), nbytes = n * dtype_size(x->dtype);
    float part[MAX_CHANNELS];

    memset(sums, 0, (n + 1) * sizeof *sums);
    for (size_t p = begin; p < end; p += HEAD_BLOCK) {
        size_t count = end - p < HEAD_BLOCK ? end - p : HEAD_BLOCK;

        gather(dy + p, x->bytes + p * nbytes, count, n, part);
        for (size_t c = 0; c < n; c++)
            sums[c] += (double)part[c];
        for (size_t i = 0; i < count; i++)
            sums[n] += (double)dy[p + i];
    }
}

void head_grad_weights(const struct op *op, head_gather_f *gather)
{
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->in[1]);
    double *sums = op->workspace;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++)
        sum_chunk(op, chunk_begin(npixels, i), chunk_begin(npixels, i + 1), gather,
                  sums + i * (n + 1));
    for (size_t i = 1; i < CHUNKS; i++)
        for (size_t c = 0; c <= n; c++)
            sums[c] += sums[i * (n + 1) + c];
    for (size_t c = 0; c < n; c++)
        op->out[0]->data[c] = (float)sums[c];
    op->out[1]->data[0] = (float)sums[n];
}
