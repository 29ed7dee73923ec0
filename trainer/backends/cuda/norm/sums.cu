/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradient sums that an op computes for the norm whose gradient comes next (core/op.h): from the
 * partial sums of blocks, and for that norm with the number of pixels, which replicas can add
 * up. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

struct sums_args {
    const double *partials; /* [nparts][n] */
    float *sums;         /* [n] */
    unsigned n, nparts;
};

/* A block adds up one number. */
KERNEL_BLOCK(sums_of_parts, sums_args)
{
    SHARED double scratch[GPU_BLOCK];
    double sum = 0;

    for (unsigned i = threadIdx.x; i < k.nparts; i += GPU_BLOCK)
        sum += k.partials[(size_t)i * k.n + blockIdx.x];
    sum = gpu_block_sum(sum, scratch);
    if (threadIdx.x == 0)
        k.sums[blockIdx.x] = (float)sum;
}

struct sums_widen_args {
    const float *sums; /* [n] */
    double *wide;      /* [n + 1]: the last one is the number of pixels */
    unsigned n, npixels;
};

KERNEL(sums_widen, sums_widen_args)
{
    for (unsigned i = gpu_index(); i <= k.n; i += gpu_stride())
        k.wide[i] = i < k.n ? (double)k.sums[i] : (double)k.npixels;
}

C_BEGIN

size_t cuda_sums_size(const struct op *op, unsigned nparts)
{
    const struct tensor *sums = op->out[OP_OUT_SUMS];

    return sums ? nparts * tensor_count(sums) * sizeof(double) : 0;
}

void cuda_sums_finish(const struct op *op, const double *partials, unsigned nparts, struct exec *x)
{
    const struct tensor *sums = op->out[OP_OUT_SUMS];
    struct sums_args k = {partials, sums ? sums->data : NULL,
                          sums ? (unsigned)tensor_count(sums) : 0, nparts};

    if (sums)
        LAUNCH(sums_of_parts, k.n, x->device->stream, k);
}

void cuda_sums_widen(const struct op *op, double *wide, struct exec *x)
{
    const struct tensor *sums = op->in[OP_SUMS];
    struct sums_widen_args k = {sums->data, wide, (unsigned)tensor_count(sums),
                                (unsigned)tensor_pixels(op->in[0])};

    LAUNCH(sums_widen, gpu_blocks(k.n + 1), x->device->stream, k);
}

C_END
