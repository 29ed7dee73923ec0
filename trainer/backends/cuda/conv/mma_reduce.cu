/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/conv/mma_reduce.h"

/* Numbers that a block adds up: its threads share the partial sums of each. */
#define NUMBERS_PER_BLOCK 16

KERNEL_BLOCK(reduce_partials, mma_reduce_args)
{
    SHARED double rows[GPU_BLOCK];
    unsigned i = blockIdx.x * NUMBERS_PER_BLOCK + threadIdx.x % NUMBERS_PER_BLOCK,
             nweights = k.taps * k.in * k.out;
    unsigned n = i < nweights ? nweights : k.out, element = i < nweights ? i : i - nweights;
    const float *from = k.partials + (i < nweights ? 0 : (size_t)k.nparts * nweights) + element;
    double sum = 0;

    for (unsigned part = threadIdx.x / NUMBERS_PER_BLOCK; element < n && part < k.nparts;
         part += GPU_BLOCK / NUMBERS_PER_BLOCK)
        sum += (double)from[(size_t)part * n];
    rows[threadIdx.x] = sum;
    BARRIER();
    if (threadIdx.x >= NUMBERS_PER_BLOCK || element >= n)
        return;
    for (unsigned row = 1; row < GPU_BLOCK / NUMBERS_PER_BLOCK; row++)
        sum += rows[row * NUMBERS_PER_BLOCK + threadIdx.x];
    if (i >= nweights)
        k.db[element] = (float)sum;
    else if (element % k.in < k.nw)
        k.dw[element / k.in % k.out * k.w_out + element % k.in * k.w_in + element / k.in / k.out] =
            (float)sum;
}

C_BEGIN

void mma_reduce(const struct mma_reduce_args *k, cudaStream_t stream)
{
    unsigned n = k->taps * k->in * k->out + (k->db ? k->out : 0);

    LAUNCH(reduce_partials, (n + NUMBERS_PER_BLOCK - 1) / NUMBERS_PER_BLOCK, stream, *k);
}

C_END
