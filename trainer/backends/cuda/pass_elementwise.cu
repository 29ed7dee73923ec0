/* SPDX-License-Identifier: BSD-3-Clause */
/* add, relu, concat, pooling and their gradients for bfloat16: one thread per chunk (pass.h). */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"
#include "trainer/backends/cuda/pass.h"

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

/* The halves of a whose halves of b are above 0. */
DEVICE unsigned where_positive(unsigned a, unsigned b)
{
    return (bf16_low(b) > 0 ? a & 0xffffu : 0) | (bf16_high(b) > 0 ? a & 0xffff0000u : 0);
}

/* relu: a and b are both x. Its gradient: a is dy, b is y. */
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

/* Parts of na and nb chunks a pixel, and the whole of both; n: chunks of the whole. */
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

struct pool_chunks_args {
    const uint16_t *src, *dy, *more; /* more: what is added to the gradient, or NULL */
    uint16_t *dst;
    unsigned height, width, chunks;      /* of the small tensor */
    unsigned large_height, large_width;  /* twice as much, or one more */
    unsigned n;                          /* threads' pieces */
};

/* The larger one in both halves; the first where they are equal. */
DEVICE unsigned larger_halves(unsigned a, unsigned b)
{
    return (bf16_low(b) > bf16_low(a) ? b & 0xffffu : a & 0xffffu) |
           (bf16_high(b) > bf16_high(a) ? b & 0xffff0000u : a & 0xffff0000u);
}

/* n: chunks of the small tensor. */
KERNEL(pool_chunks, pool_chunks_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % k.chunks, pixel = i / k.chunks, row = pixel / k.width;
        size_t line = (size_t)(row / k.height * k.large_height + row % k.height * 2) * k.large_width;
        const uint16_t *p = k.src + ((line + pixel % k.width * 2) * k.chunks + c) * 8;
        struct gpu16 largest = gpu16_load(p);

        for (unsigned j = 1; j < 4; j++) {
            struct gpu16 v =
                gpu16_load(p + ((size_t)(j / 2) * k.large_width + j % 2) * k.chunks * 8);

            UNROLL
            for (unsigned w = 0; w < 4; w++)
                largest.word[w] = larger_halves(largest.word[w], v.word[w]);
        }
        gpu16_store(k.dst + (size_t)i * 8, largest);
    }
}

DEVICE unsigned add_halves(unsigned a, unsigned b)
{
    return bf16_pair(bf16_low(a) + bf16_low(b), bf16_high(a) + bf16_high(b));
}

/* n: chunks of 2x2 pixels of the large tensor, those that pooling left out included: they are at most
 * one row or column of what has no second one. */
KERNEL(pool_grad_chunks, pool_chunks_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned wide = (k.large_width + 1) / 2, high = (k.large_height + 1) / 2;
        unsigned c = i % k.chunks, column = i / k.chunks % wide, row = i / k.chunks / wide % high;
        unsigned image = i / k.chunks / wide / high;
        bool pooled = row < k.height && column < k.width;
        size_t line = (size_t)(image * k.large_height + 2 * row) * k.large_width;
        size_t first = ((line + 2 * column) * k.chunks + c) * 8, place[4];
        struct gpu16 v[4], dy;
        unsigned taken[4] = {0, 0, 0, 0}; /* halves whose gradient has its place */

        if (pooled)
            dy = gpu16_load(k.dy + (((size_t)(image * k.height + row) * k.width + column) * k.chunks + c) * 8);
        for (unsigned j = 0; j < 4; j++) {
            place[j] = first + ((size_t)(j / 2) * k.large_width + j % 2) * k.chunks * 8;
            if (pooled)
                v[j] = gpu16_load(k.src + place[j]);
        }
        for (unsigned j = 0; j < 4; j++) {
            struct gpu16 d;

            if (2 * row + j / 2 >= k.large_height || 2 * column + j % 2 >= k.large_width)
                continue;
            UNROLL
            for (unsigned w = 0; w < 4; w++) {
                unsigned most = 0, mask;

                d.word[w] = 0;
                if (!pooled)
                    continue;
                most = larger_halves(larger_halves(v[0].word[w], v[1].word[w]),
                                     larger_halves(v[2].word[w], v[3].word[w]));
                mask = (bf16_low(v[j].word[w]) == bf16_low(most) ? 0xffffu : 0) |
                       (bf16_high(v[j].word[w]) == bf16_high(most) ? 0xffff0000u : 0);
                mask &= ~taken[w];
                taken[w] |= mask;
                d.word[w] = dy.word[w] & mask;
            }
            if (k.more) {
                struct gpu16 more = gpu16_load(k.more + place[j]);

                UNROLL
                for (unsigned w = 0; w < 4; w++)
                    d.word[w] = add_halves(d.word[w], more.word[w]);
            }
            gpu16_store(k.dst + place[j], d);
        }
    }
}

C_BEGIN

/* Of bfloat16 all of them, with whole chunks of channels. */
static bool supports_chunks(const struct op *op)
{
    for (int i = 0; i < op->kind->nin; i++)
        if (op->in[i]->dtype != DTYPE_BF16 || tensor_channels(op->in[i]) % 8)
            return false;
    for (int i = 0; i < op->kind->nout; i++)
        if (op->out[i]->dtype != DTYPE_BF16 || tensor_channels(op->out[i]) % 8)
            return false;
    return cuda_supports(op) && cuda_has_bf16();
}

static struct chunks_args chunks_of(const struct op *op, const struct tensor *a, const struct tensor *b)
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

static struct pool_chunks_args pool_chunks_of(const struct tensor *small, const struct tensor *large)
{
    struct pool_chunks_args k = {NULL, NULL, NULL, NULL, (unsigned)small->shape.dim[DIM_H],
                                 (unsigned)small->shape.dim[DIM_W],
                                 (unsigned)tensor_channels(small) / 8,
                                 (unsigned)large->shape.dim[DIM_H],
                                 (unsigned)large->shape.dim[DIM_W],
                                 (unsigned)(tensor_count(small) / 8)};

    return k;
}

static int run_pool_chunks(struct op *op, struct exec *x, struct err *e)
{
    struct pool_chunks_args k = pool_chunks_of(op->out[0], op->in[0]);

    (void)e;
    k.src = op->in[0]->half;
    k.dst = op->out[0]->half;
    LAUNCH(pool_chunks, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

/* (dy, x) -> dx, or (a, dy, x) -> a + dx */
static int run_pool_grad_chunks(struct op *op, struct exec *x, struct err *e)
{
    struct tensor *const *in = op->in + op->kind->nin - 2;
    struct pool_chunks_args k = pool_chunks_of(in[0], in[1]);

    (void)e;
    k.dy = in[0]->half;
    k.src = in[1]->half;
    k.more = op->kind->nin > 2 ? op->in[0]->half : NULL;
    k.dst = op->out[0]->half;
    k.n = (unsigned)in[1]->shape.dim[DIM_N] * ((k.large_height + 1) / 2) * ((k.large_width + 1) / 2) *
          k.chunks;
    LAUNCH(pool_grad_chunks, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_pass_add = {&add_kind, supports_chunks, NULL, run_add_chunks, NULL};
const struct kernel cuda_pass_relu = {&relu_kind, supports_chunks, NULL, run_relu_chunks, NULL};
const struct kernel cuda_pass_relu_grad = {&relu_grad_kind, supports_chunks, NULL, run_relu_chunks,
                                           NULL};
const struct kernel cuda_pass_concat = {&concat_kind, supports_chunks, NULL, run_concat_chunks, NULL};
const struct kernel cuda_pass_concat_grad = {&concat_grad_kind, supports_chunks, NULL,
                                             run_split_chunks, NULL};
const struct kernel cuda_pass_max_pool2d = {&max_pool2d_kind, supports_chunks, NULL, run_pool_chunks,
                                            NULL};
const struct kernel cuda_pass_max_pool2d_grad = {&max_pool2d_grad_kind, supports_chunks, NULL,
                                                 run_pool_grad_chunks, NULL};
const struct kernel cuda_pass_max_pool2d_grad_add = {&max_pool2d_grad_add_kind, supports_chunks, NULL,
                                                     run_pool_grad_chunks, NULL};

C_END
