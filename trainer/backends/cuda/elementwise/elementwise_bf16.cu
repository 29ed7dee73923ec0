/* SPDX-License-Identifier: BSD-3-Clause */
/* add, relu, concat and their gradients for bfloat16: a thread per chunk of 8 channels (16
 * bytes). */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/warp.h"

struct chunks_args {
    const uint16_t *a, *b;
    uint16_t *dst;
    unsigned n; /* chunks */
};

KERNEL(add_chunks, chunks_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        struct gpu16 a = gpu16_load(k.a + (size_t)i * 8), b = gpu16_load(k.b + (size_t)i * 8);

        UNROLL
        for (unsigned j = 0; j < 4; j++)
            a.word[j] = bf16_pair(bf16_low(a.word[j]) + bf16_low(b.word[j]),
                                  bf16_high(a.word[j]) + bf16_high(b.word[j]));
        gpu16_store(k.dst + (size_t)i * 8, a);
    }
}

/* Returns the 16-bit halves of a where those of b are positive, 0 elsewhere. */
DEVICE unsigned where_positive(unsigned a, unsigned b)
{
    return (bf16_low(b) > 0 ? a & 0xffffu : 0) | (bf16_high(b) > 0 ? a & 0xffff0000u : 0);
}

/* Of relu a and b are both x; of its gradient a is dy and b is y. */
KERNEL(relu_chunks, chunks_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        struct gpu16 a = gpu16_load(k.a + (size_t)i * 8), b = gpu16_load(k.b + (size_t)i * 8);

        UNROLL
        for (unsigned j = 0; j < 4; j++)
            a.word[j] = where_positive(a.word[j], b.word[j]);
        gpu16_store(k.dst + (size_t)i * 8, a);
    }
}

/* Tensors of na and nb chunks per pixel and their concatenation; n: its chunks. */
struct concat_chunks_args {
    uint16_t *a, *b, *whole;
    unsigned na, nb, n;
};

DEVICE uint16_t *concat_chunk(const struct concat_chunks_args *k, unsigned i)
{
    unsigned pixel = i / (k->na + k->nb), c = i % (k->na + k->nb);

    return c < k->na ? k->a + ((size_t)pixel * k->na + c) * 8
                     : k->b + ((size_t)pixel * k->nb + (c - k->na)) * 8;
}

KERNEL(concat_chunks, concat_chunks_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        gpu16_store(k.whole + (size_t)i * 8, gpu16_load(concat_chunk(&k, i)));
}

KERNEL(split_chunks, concat_chunks_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        gpu16_store(concat_chunk(&k, i), gpu16_load(k.whole + (size_t)i * 8));
}

C_BEGIN

static struct chunks_args chunks_of(const struct op *op, const struct tensor *a,
                                    const struct tensor *b)
{
    struct chunks_args k = {a->half, b->half, op->out[0]->half,
                            (unsigned)(tensor_count(op->out[0]) / 8)};

    return k;
}

static int run_add_chunks(struct op *op, struct exec *x, struct err *e)
{
    struct chunks_args k = chunks_of(op, op->in[0], op->in[1]);

    (void)e;
    LAUNCH(add_chunks, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_relu_chunks(struct op *op, struct exec *x, struct err *e)
{
    struct chunks_args k = chunks_of(op, op->in[0], op->in[op->kind->nin - 1]);

    (void)e;
    LAUNCH(relu_chunks, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static struct concat_chunks_args concat_chunks_of(const struct tensor *a, const struct tensor *b,
                                                  const struct tensor *whole)
{
    struct concat_chunks_args k = {a->half, b->half, whole->half, (unsigned)tensor_channels(a) / 8,
                                   (unsigned)tensor_channels(b) / 8,
                                   (unsigned)(tensor_count(whole) / 8)};

    return k;
}

static int run_concat_chunks(struct op *op, struct exec *x, struct err *e)
{
    struct concat_chunks_args k = concat_chunks_of(op->in[0], op->in[1], op->out[0]);

    (void)e;
    LAUNCH(concat_chunks, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_split_chunks(struct op *op, struct exec *x, struct err *e)
{
    struct concat_chunks_args k = concat_chunks_of(op->out[0], op->out[1], op->in[0]);

    (void)e;
    LAUNCH(split_chunks, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_bf16_add = {
    &add_kind, cuda_supports_bf16, NULL, run_add_chunks, NULL, 0, 0, KERNEL_HALVES};
const struct kernel cuda_bf16_relu = {
    &relu_kind, cuda_supports_bf16, NULL, run_relu_chunks, NULL, 0, 0, KERNEL_HALVES};
const struct kernel cuda_bf16_relu_grad = {
    &relu_grad_kind, cuda_supports_bf16, NULL, run_relu_chunks, NULL, 0, 0, KERNEL_HALVES};
const struct kernel cuda_bf16_concat = {
    &concat_kind, cuda_supports_bf16, NULL, run_concat_chunks, NULL, 0, 0, KERNEL_HALVES};
const struct kernel cuda_bf16_concat_grad = {
    &concat_grad_kind, cuda_supports_bf16, NULL, run_split_chunks, NULL, 0, 0, KERNEL_HALVES};

C_END
