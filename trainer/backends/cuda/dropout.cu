/* SPDX-License-Identifier: BSD-3-Clause */
/* dropout, bias with its gradient, and reshape. The random numbers are src/rng.h's, one block for four
 * elements, so that the same ones are dropped as on the host. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

struct dropout_args {
    const float *src;
    float *dst;
    const struct cuda_scalars *scalars;
    uint64_t stream, limit;
    float scale;
    unsigned each, nblocks, n; /* elements and blocks of an image; blocks of all */
};

/* Philox 4x32-10, see src/rng.h. */
DEVICE void random_block(uint64_t seed, uint64_t stream, uint64_t index, unsigned *dst)
{
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    unsigned c0 = (unsigned)index, c1 = (unsigned)(index >> 32);
    unsigned c2 = (unsigned)stream, c3 = (unsigned)(stream >> 32);

    for (int i = 0; i < 10; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
        c1 = (unsigned)p1;
        c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
        c3 = (unsigned)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    dst[0] = c0;
    dst[1] = c1;
    dst[2] = c2;
    dst[3] = c3;
}

KERNEL(dropout, dropout_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned image = i / k.nblocks, block = i % k.nblocks, at = image * k.each + 4 * block;
        unsigned words[4];

        random_block(k.scalars->noise, k.stream,
                     (k.scalars->first + image) * k.nblocks + block, words);
        for (unsigned j = 0; j < 4 && 4 * block + j < k.each; j++)
            k.dst[at + j] = words[j] >= k.limit ? k.src[at + j] * k.scale : 0;
    }
}

struct bias_args {
    const float *src, *bias;
    float *dst;
    unsigned channels, n; /* n: elements of src */
};

KERNEL(bias, bias_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        k.dst[i] = k.src[i] + k.bias[i % k.channels];
}

/* One block for each channel. */
KERNEL_BLOCK(bias_grad, bias_args)
{
    SHARED double scratch[GPU_BLOCK];
    double sum = 0;

    for (unsigned p = threadIdx.x; p < k.n / k.channels; p += GPU_BLOCK)
        sum += (double)k.src[p * k.channels + blockIdx.x];
    sum = gpu_block_sum(sum, scratch);
    if (threadIdx.x == 0)
        k.dst[blockIdx.x] = (float)sum;
}

C_BEGIN

static int run_dropout(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    struct dropout_args k = {src->data, op->out[0]->data, x->device->scalars, op->attr.stream,
                             (uint64_t)(op->attr.rate * 4294967296.),
                             (float)(1 / (1 - op->attr.rate)), 0, 0, 0};

    (void)e;
    k.each = (unsigned)(tensor_count(src) / (size_t)src->shape.dim[DIM_N]);
    k.nblocks = (k.each + 3) / 4;
    k.n = k.nblocks * (unsigned)src->shape.dim[DIM_N];
    LAUNCH(dropout, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_bias(struct op *op, struct exec *x, struct err *e)
{
    struct bias_args k = {op->in[0]->data, op->in[1]->data, op->out[0]->data,
                          (unsigned)tensor_channels(op->in[0]), (unsigned)tensor_count(op->in[0])};

    (void)e;
    LAUNCH(bias, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_bias_grad(struct op *op, struct exec *x, struct err *e)
{
    struct bias_args k = {op->in[0]->data, NULL, op->out[0]->data,
                          (unsigned)tensor_channels(op->in[0]), (unsigned)tensor_count(op->in[0])};

    (void)e;
    LAUNCH(bias_grad, k.channels, x->device->stream, k);
    return 0;
}

/* Nothing to do where the result took the input's memory. */
static int run_reshape(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data;
    float *dst = op->out[0]->data;

    if (dst == src)
        return 0;
    return cuda_device_ops.copy(x->device, dst, src, tensor_count(op->out[0]) * sizeof *dst, e);
}

const struct kernel cuda_dropout = {&dropout_kind, cuda_supports, NULL, run_dropout, NULL};
const struct kernel cuda_bias = {&bias_kind, cuda_supports, NULL, run_bias, NULL};
const struct kernel cuda_bias_grad = {&bias_grad_kind, cuda_supports, NULL, run_bias_grad, NULL};
const struct kernel cuda_reshape = {&reshape_kind, cuda_supports, NULL, run_reshape, NULL};

C_END
