/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/conv/mma_reduce.h"

/* Elements of a block; its threads add up the parts of each. */
#define GATHER_EACH 16

KERNEL_BLOCK(gather_parts, mma_reduce_args)
{
    SHARED double rows[GPU_BLOCK];
    unsigned i = blockIdx.x * GATHER_EACH + threadIdx.x % GATHER_EACH,
             nweights = k.taps * k.in * k.out;
    unsigned n = i < nweights ? nweights : k.out, element = i < nweights ? i : i - nweights;
    const float *from = k.partials + (i < nweights ? 0 : (size_t)k.nparts * nweights) + element;
    double sum = 0;

    for (unsigned part = threadIdx.x / GATHER_EACH; element < n && part < k.nparts;
         part += GPU_BLOCK / GATHER_EACH)
        sum += (double)from[(size_t)part * n];
    rows[threadIdx.x] = sum;
    BARRIER();
    if (threadIdx.x >= GATHER_EACH || element >= n)
        return;
    for (unsigned row = 1; row < GPU_BLOCK / GATHER_EACH; row++)
        sum += rows[row * GATHER_EACH + threadIdx.x];
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

    LAUNCH(gather_parts, (n + GATHER_EACH - 1) / GATHER_EACH, stream, *k);
}

C_END
