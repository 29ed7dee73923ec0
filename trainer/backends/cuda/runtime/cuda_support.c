/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of kernels: which ops they support, and how many blocks fit into this thread's GPU. They
 * depend on the environment and the GPU; cuda_limit_blocks sets a flag of this thread. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_RESERVED 1024 /* bytes of shared memory per block that CUDA reserves */
#define LIMITED_BLOCKS 3

static _Thread_local bool limits_blocks;

void cuda_limit_blocks(bool on)
{
    limits_blocks = on;
}

static bool is_plain(void)
{
    const char *word = getenv("UNET_CUDA_KERNELS");

    return word && strcmp(word, "plain") == 0;
}

bool cuda_has_bf16(void)
{
    int device = 0, major = 0;

    return !is_plain() && cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           major >= 8;
}

unsigned cuda_fit(unsigned nblocks, size_t nbytes)
{
    int device = 0, most = 0;

    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess)
        return 0;
    size_t room = ((size_t)most + BLOCK_RESERVED) / (nbytes + BLOCK_RESERVED);
    return room < nblocks ? (unsigned)room : nblocks;
}

unsigned cuda_resident(unsigned each, size_t n)
{
    int device = 0, nprocessors = 1;

    if (cudaGetDevice(&device) == cudaSuccess)
        (void)cudaDeviceGetAttribute(&nprocessors, cudaDevAttrMultiProcessorCount, device);
    size_t most = (size_t)nprocessors * each;
    if (limits_blocks && most > LIMITED_BLOCKS)
        most = LIMITED_BLOCKS;
    return (unsigned)(n < most ? n : most);
}

bool cuda_supports(const struct op *op)
{
    for (int i = -1; op_next_in(op, &i);)
        if (tensor_count(op->in[i]) >> 31)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (tensor_count(op->out[i]) >> 31)
            return false;
    return true;
}

bool cuda_supports_one_type(const struct op *op)
{
    enum dtype t = op->in[0]->dtype;

    for (int i = -1; op_next_in(op, &i);)
        if (op->in[i]->place == TENSOR_ARENA && op->in[i]->shape.ndim == 4 && op->in[i]->dtype != t)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (op->out[i]->place == TENSOR_ARENA && op->out[i]->shape.ndim == 4 &&
            op->out[i]->dtype != t)
            return false;
    return cuda_supports(op);
}

/* Tensors of fewer dimensions, such as biases, are floats. */
static bool takes_chunks(const struct tensor *t)
{
    return t->shape.ndim < 4 || (t->dtype == DTYPE_BF16 && tensor_channels(t) % 8 == 0);
}

bool cuda_supports_bf16(const struct op *op)
{
    for (int i = -1; op_next_in(op, &i);)
        if (!takes_chunks(op->in[i]))
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (!takes_chunks(op->out[i]))
            return false;
    return cuda_supports(op) && cuda_has_bf16();
}
