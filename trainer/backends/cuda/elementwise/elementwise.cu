/* SPDX-License-Identifier: BSD-3-Clause */
/* add, relu, concat, the gradients of the last two, and cast: a thread per element. For bfloat16
 * with multiples of 8 channels, where cuda_has_bf16, all but cast have a thread per chunk of 8
 * channels (16 bytes). */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#include "trainer/backends/cuda/runtime/warp.h"

/* relu: a and b are x. Its gradient: a is dy and b is y. n: elements. */
struct elementwise_args {
    const void *a, *b;
    void *dst;
    unsigned n;
};

DEVICE void add_as(const struct elementwise_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride())
        gpu_store(k->dst, i, type, gpu_load(k->a, i, type) + gpu_load(k->b, i, type));
}

DEVICE void relu_as(const struct elementwise_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride())
        if (gpu_load(k->b, i, type) > 0)
            gpu_copy(k->dst, i, k->a, i, type);
        else
            gpu_clear(k->dst, i, type);
}

TYPED_KERNEL(add, elementwise_args)
TYPED_KERNEL(relu, elementwise_args)

/* Returns the address of chunk i. */
DEVICE uint16_t *chunk_at(const void *p, size_t i)
{
    return (uint16_t *)p + i * 8;
}

KERNEL(add_chunks, elementwise_args)
{
    for (unsigned i = gpu_index(); i < k.n / 8; i += gpu_stride()) {
        struct gpu16 a = gpu16_load(chunk_at(k.a, i)), b = gpu16_load(chunk_at(k.b, i));

        UNROLL
        for (unsigned j = 0; j < 4; j++)
            a.word[j] = bf16_pair(bf16_low(a.word[j]) + bf16_low(b.word[j]),
                                  bf16_high(a.word[j]) + bf16_high(b.word[j]));
        gpu16_store(chunk_at(k.dst, i), a);
    }
}

/* Returns the 16-bit halves of a where those of b are positive, 0 elsewhere. */
DEVICE unsigned where_positive(unsigned a, unsigned b)
{
    return (bf16_low(b) > 0 ? a & 0xffffu : 0) | (bf16_high(b) > 0 ? a & 0xffff0000u : 0);
}

KERNEL(relu_chunks, elementwise_args)
{
    for (unsigned i = gpu_index(); i < k.n / 8; i += gpu_stride()) {
        struct gpu16 a = gpu16_load(chunk_at(k.a, i)), b = gpu16_load(chunk_at(k.b, i));

        UNROLL
        for (unsigned j = 0; j < 4; j++)
            a.word[j] = where_positive(a.word[j], b.word[j]);
        gpu16_store(chunk_at(k.dst, i), a);
    }
}

struct cast_args {
    const void *src;
    void *dst;
    unsigned from, to, n;
};

KERNEL(cast, cast_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        gpu_store(k.dst, i, k.to, gpu_load(k.src, i, k.from));
}

/* Tensors of na and nb channels and their concatenation; n: its elements. */
struct concat_args {
    void *a, *b, *whole;
    unsigned na, nb, n;
};

/* Returns the tensor that contains element i of the concatenation, and sets *at to its index
 * there. */
DEVICE void *concat_part(const struct concat_args *k, unsigned i, unsigned *at)
{
    unsigned pixel = i / (k->na + k->nb), c = i % (k->na + k->nb);

    *at = c < k->na ? pixel * k->na + c : pixel * k->nb + (c - k->na);
    return c < k->na ? k->a : k->b;
}

DEVICE void concat_as(const struct concat_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned at;
        const void *part = concat_part(k, i, &at);

        gpu_copy(k->whole, i, part, at, type);
    }
}

DEVICE void concat_grad_as(const struct concat_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned at;
        void *part = concat_part(k, i, &at);

        gpu_copy(part, at, k->whole, i, type);
    }
}

TYPED_KERNEL(concat, concat_args)
TYPED_KERNEL(concat_grad, concat_args)

/* The same for a chunk of the concatenation. */
DEVICE uint16_t *concat_chunk(const struct concat_args *k, unsigned i)
{
    unsigned at;
    void *part = concat_part(k, 8 * i, &at);

    return (uint16_t *)part + at;
}

KERNEL(concat_chunks, concat_args)
{
    for (unsigned i = gpu_index(); i < k.n / 8; i += gpu_stride())
        gpu16_store(chunk_at(k.whole, i), gpu16_load(concat_chunk(&k, i)));
}

KERNEL(concat_grad_chunks, concat_args)
{
    for (unsigned i = gpu_index(); i < k.n / 8; i += gpu_stride())
        gpu16_store(concat_chunk(&k, i), gpu16_load(chunk_at(k.whole, i)));
}

struct unpack_args {
    float *dst;
    const unsigned char *src;
    unsigned n;
};

KERNEL(unpack, unpack_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        k.dst[i] = k.src[i] == 255 ? -1 : (float)k.src[i];
}

C_BEGIN

void cuda_unpack(struct device *d, float *dst, const void *src, size_t n)
{
    struct unpack_args k = {dst, (const unsigned char *)src, (unsigned)n};

    LAUNCH(unpack, gpu_blocks(n), d->stream, k);
}

/* Launches NAME_chunks where the op's tensors have chunks, otherwise NAME for their type. */
#define LAUNCH_FOR(op, name, x, k)                                                \
    do {                                                                          \
        cudaStream_t stream = (x)->device->stream;                                \
        if (cuda_supports_bf16(op))                                               \
            LAUNCH(name##_chunks, gpu_blocks((k).n / 8), stream, k);              \
        else                                                                      \
            LAUNCH_AS((op)->out[0]->dtype, name, gpu_blocks((k).n), stream, k);   \
    } while (0)

static struct elementwise_args elementwise_of(const struct op *op)
{
    struct elementwise_args k = {op->in[0]->data, op->in[op->kind->nin - 1]->data,
                                 op->out[0]->data, (unsigned)tensor_count(op->out[0])};

    return k;
}

static int run_add(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    (void)e;
    LAUNCH_FOR(op, add, x, k);
    return 0;
}

static int run_relu(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    (void)e;
    LAUNCH_FOR(op, relu, x, k);
    return 0;
}

static struct concat_args concat_of(const struct tensor *a, const struct tensor *b,
                                    const struct tensor *whole)
{
    struct concat_args k = {a->data, b->data, whole->data, (unsigned)tensor_channels(a),
                            (unsigned)tensor_channels(b), (unsigned)tensor_count(whole)};

    return k;
}

static int run_concat(struct op *op, struct exec *x, struct err *e)
{
    struct concat_args k = concat_of(op->in[0], op->in[1], op->out[0]);

    (void)e;
    LAUNCH_FOR(op, concat, x, k);
    return 0;
}

static int run_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    struct concat_args k = concat_of(op->out[0], op->out[1], op->in[0]);

    (void)e;
    LAUNCH_FOR(op, concat_grad, x, k);
    return 0;
}

static int run_cast(struct op *op, struct exec *x, struct err *e)
{
    struct cast_args k = {op->in[0]->data, op->out[0]->data, (unsigned)op->in[0]->dtype,
                          (unsigned)op->out[0]->dtype, (unsigned)tensor_count(op->out[0])};

    (void)e;
    LAUNCH(cast, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_add = {
    &add_kind, cuda_supports_one_type, NULL, run_add, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_cast = {
    &cast_kind, cuda_supports, NULL, run_cast, NULL, 0, 0, KERNEL_HALVES};
const struct kernel cuda_relu = {
    &relu_kind, cuda_supports_one_type, NULL, run_relu, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_relu_grad = {
    &relu_grad_kind, cuda_supports_one_type, NULL, run_relu, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_concat = {
    &concat_kind, cuda_supports_one_type, NULL, run_concat, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_concat_grad = {
    &concat_grad_kind, cuda_supports_one_type, NULL, run_concat_grad, NULL, 0, 0, KERNEL_ANY};

C_END
