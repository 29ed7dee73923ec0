/* SPDX-License-Identifier: BSD-3-Clause */
/* dropout and reshape. The random numbers are those of src/rng.h, one block of four numbers for
 * four elements, so that the device drops the same elements as the host. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_queue.h"

struct dropout_args {
    const void *src;
    void *dst;
    const struct cuda_scalars *scalars;
    uint64_t stream, limit;
    float scale;
    unsigned count, nblocks, n; /* elements and blocks of an image; elements of all images */
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

DEVICE void dropout_some(const struct dropout_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        unsigned image = i * each / k->count, at = i * each % k->count, words[GPU_MOST_CHUNK];
        float v[GPU_MOST_CHUNK];

        gpu_load_some(k->src, i * each, type, each, v);
        for (unsigned j = 0; j < each; j += 4)
            random_block(k->scalars->noise, k->stream,
                         (k->scalars->first + image) * k->nblocks + (at + j) / 4, words + j);
        for (unsigned j = 0; j < each; j++)
            v[j] = words[each > 1 ? j : at % 4] >= k->limit ? v[j] * k->scale : 0;
        gpu_store_some(k->dst, i * each, type, each, v);
    }
}

CHUNKED_KERNEL(dropout, dropout_args, k->count)

C_BEGIN

static int run_dropout(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    struct dropout_args k = {src->data, op->out[0]->data, x->device->scalars, op->attr.stream,
                             (uint64_t)(op->attr.rate * 4294967296.),
                             (float)(1 / (1 - op->attr.rate)), 0, 0, 0};

    k.n = (unsigned)tensor_count(src);
    k.count = k.n / (unsigned)src->shape.dim[DIM_N];
    k.nblocks = (k.count + 3) / 4;
    LAUNCH_AS(src->dtype, dropout, gpu_blocks(k.n / GPU_EACH(k.count, src->dtype)),
              x->device->stream, k);
    return 0;
}

/* Copies, unless the result has the memory of the input. */
static int run_reshape(struct op *op, struct exec *x, struct err *e)
{
    const void *src = op->in[0]->data;
    void *dst = op->out[0]->data;

    if (dst == src)
        return 0;
    return cuda_queue_copy(x->device, dst, src, tensor_nbytes(op->out[0]), e);
}

const struct kernel cuda_dropout = {
    &dropout_kind, cuda_supports_one_type, NULL, run_dropout, NULL, KERNEL_ANY};
const struct kernel cuda_reshape = {
    &reshape_kind, cuda_supports_one_type, NULL, run_reshape, NULL, KERNEL_ANY};

C_END
