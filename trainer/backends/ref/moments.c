/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/moments.h"

#include <math.h>

#include "trainer/backends/ref/chunks.h"

size_t moments_workspace(const struct op *op)
{
    return op->out[OP_OUT_MOMENTS] ? chunks_workspace(tensor_channels(op->out[0])) : 0;
}

void moments_write(const struct op *op, double *workspace)
{
    const struct tensor *y = op->out[0], *moments = op->out[OP_OUT_MOMENTS];
    size_t n = tensor_channels(y);

    if (!moments)
        return;
    chunks_sum(y->data, y->data, tensor_pixels(y), n, workspace);
    for (size_t c = 0; c < n; c++) {
        double count = (double)tensor_pixels(y), mean = workspace[c] / count;

        moments->data[c] = (float)mean;
        moments->data[n + c] = (float)fmax(workspace[n + c] / count - mean * mean, 0);
    }
}

void moments_sums(const struct tensor *moments, size_t npixels, double *sums)
{
    size_t n = tensor_count(moments) / 2;

    for (size_t c = 0; c < n; c++) {
        double mean = (double)moments->data[c], var = (double)moments->data[n + c];

        sums[c] = (double)npixels * mean;
        sums[n + c] = (double)npixels * (var + mean * mean);
    }
}
