/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments of a result (core/op.h) from the partial sums of blocks. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/norm/norm_rows.h"

struct moments_args {
    const double *partials; /* [nparts][2][channels]: sums of y and y y */
    float *moments;
    unsigned channels, nparts, npixels;
};

/* A block computes the moments of one channel. */
KERNEL_BLOCK(moments_of_parts, moments_args)
{
    SHARED double scratch[GPU_BLOCK];
    unsigned c = blockIdx.x;
    double sum = 0, squares = 0;

    for (unsigned i = threadIdx.x; i < k.nparts; i += GPU_BLOCK) {
        sum += k.partials[2 * i * k.channels + c];
        squares += k.partials[(2 * i + 1) * k.channels + c];
    }
    sum = gpu_block_sum(sum, scratch);
    squares = gpu_block_sum(squares, scratch);
    if (threadIdx.x == 0) {
        double mean = sum / k.npixels;

        k.moments[c] = (float)mean;
        k.moments[k.channels + c] = (float)fmax(squares / k.npixels - mean * mean, 0.);
    }
}

C_BEGIN

size_t cuda_moments_size(const struct op *op, unsigned nparts)
{
    size_t n = op->out[OP_OUT_MOMENTS] ? tensor_channels(op->out[0]) : 0;

    return 2 * nparts * n * sizeof(double);
}

void cuda_moments_finish(const struct op *op, const double *partials, unsigned nparts,
                         struct exec *x)
{
    const struct tensor *y = op->out[0], *moments = op->out[OP_OUT_MOMENTS];
    struct moments_args k = {partials, moments ? moments->data : NULL, (unsigned)tensor_channels(y),
                             nparts, (unsigned)tensor_pixels(y)};

    if (moments)
        LAUNCH(moments_of_parts, k.channels, x->device->stream, k);
}

void cuda_moments_pass(const struct op *op, double *partials, struct exec *x)
{
    const struct tensor *y = op->out[0];
    unsigned npixels = (unsigned)tensor_pixels(y);
    unsigned nparts = npixels < CUDA_MOMENTS_PARTS ? npixels : CUDA_MOMENTS_PARTS;
    struct norm_sum_args k = {y->data, y->data, NULL, partials, npixels,
                              (unsigned)tensor_channels(y), nparts};

    norm_sum(y->dtype, &k, x->device->stream);
    cuda_moments_finish(op, partials, nparts, x);
}

C_END
