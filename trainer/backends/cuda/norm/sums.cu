/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradient sums that an op computes for the norm whose gradient comes next (core/op.h): from the
 * partial sums of blocks. */
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

C_END
