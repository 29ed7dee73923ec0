/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling 2x2 and its gradient for bfloat16: a thread per chunk of 8 channels; in the gradient,
 * a block per part of the windows. With OP_SCALE_SHIFT (core/op.h) the large tensor is read through
 * a norm and ReLU; with OP_OUT_SUMS the gradient also makes the partial sums of that norm's
 * gradient. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/warp.h"

#define POOL_PARTS 1024
#define POOL_WINDOWS 64 /* of a part at most, unless there are POOL_PARTS parts */
#define POOL_SUMS 16    /* of a chunk: 8 of g, 8 of g x */

struct pool_args {
    const uint16_t *src, *dy, *added;   /* added: to be added to the gradient, or NULL */
    const float *scale_shift;                  /* [2][channels]: norm and ReLU of src, or NULL */
    uint16_t *dst;
    double *partials;                   /* [nparts][2][channels], or NULL */
    unsigned height, width, chunks;     /* of the small tensor */
    unsigned large_height, large_width; /* twice as large, or one more */
    unsigned n, nparts; /* chunks of the small tensor; in the gradient windows of the large one */
};

/* The coefficients of the channels of a chunk. */
struct pool_norm {
    float a[8], b[8];
};

DEVICE struct pool_norm load_norm(const struct pool_args *k, unsigned chunk)
{
    struct pool_norm f;

    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        f.a[j] = k->scale_shift ? k->scale_shift[chunk * 8 + j] : 1;
        f.b[j] = k->scale_shift ? k->scale_shift[(k->chunks + chunk) * 8 + j] : 0;
    }
    return f;
}

DEVICE float pool_number(const struct gpu16 *v, const unsigned j)
{
    return j % 2 ? bf16_high(v->word[j / 2]) : bf16_low(v->word[j / 2]);
}

/* Returns number j of a chunk after the norm and ReLU that are applied while the source is read;
 * without coefficients the number is returned unchanged. */
DEVICE float pool_value(const struct pool_args *k, const struct pool_norm *f, const struct gpu16 *v,
                        const unsigned j)
{
    float x = pool_number(v, j);

    return k->scale_shift ? fmaxf(fmaf(f->a[j], x, f->b[j]), 0.f) : x;
}

KERNEL(pool_chunks, pool_args)
{
    unsigned loaded = 0;
    struct pool_norm f = load_norm(&k, loaded);

    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % k.chunks, pixel = i / k.chunks, row = pixel / k.width;
        size_t line = (size_t)(row / k.height * k.large_height + row % k.height * 2) *
                      k.large_width;
        const uint16_t *p = k.src + ((line + pixel % k.width * 2) * k.chunks + c) * 8;
        struct gpu16 v = gpu16_load(p);
        float largest[8];

        if (c != loaded) {
            loaded = c;
            f = load_norm(&k, c);
        }
        UNROLL
        for (unsigned j = 0; j < 8; j++)
            largest[j] = pool_value(&k, &f, &v, j);
        UNROLL
        for (unsigned n = 1; n < 4; n++) {
            v = gpu16_load(p + ((size_t)(n / 2) * k.large_width + n % 2) * k.chunks * 8);
            UNROLL
            for (unsigned j = 0; j < 8; j++) {
                float value = pool_value(&k, &f, &v, j);

                largest[j] = value > largest[j] ? value : largest[j];
            }
        }
        UNROLL
        for (unsigned w = 0; w < 4; w++)
            v.word[w] = bf16_pair(largest[2 * w], largest[2 * w + 1]);
        gpu16_store(k.dst + (size_t)i * 8, v);
    }
}

/* Gives the bits of dy to the first largest of the four, for each channel. */
DEVICE void scatter_gradient(const struct pool_args *k, const struct pool_norm *f,
                             const struct gpu16 *x, const struct gpu16 *dy, struct gpu16 *d)
{
    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        unsigned bits = dy->word[j / 2] & (j % 2 ? 0xffff0000u : 0xffffu), best = 0;
        float largest = pool_value(k, f, &x[0], j);

        UNROLL
        for (unsigned n = 1; n < 4; n++) {
            float value = pool_value(k, f, &x[n], j);

            best = value > largest ? n : best;
            largest = value > largest ? value : largest;
        }
        UNROLL
        for (unsigned n = 0; n < 4; n++)
            d[n].word[j / 2] |= best == n ? bits : 0;
    }
}

DEVICE void add_sums(float *sums, const struct pool_norm *f, const struct gpu16 *x,
                     const struct gpu16 *g)
{
    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        float v = pool_number(x, j), gradient = pool_number(g, j);

        if (!(fmaf(f->a[j], v, f->b[j]) > 0))
            continue;
        sums[j] += gradient;
        sums[8 + j] = fmaf(gradient, v, sums[8 + j]);
    }
}

DEVICE unsigned add_halves(unsigned a, unsigned b)
{
    return bf16_pair(bf16_low(a) + bf16_low(b), bf16_high(a) + bf16_high(b));
}

/* The gradient of a window of 2x2 pixels of the large tensor. Windows include the last row and
 * column that pooling left out, which have no second one. */
DEVICE void pool_back_window(const struct pool_args *k, const struct pool_norm *f, unsigned window,
                             unsigned chunk, float *sums)
{
    unsigned wide = (k->large_width + 1) / 2, high = (k->large_height + 1) / 2;
    unsigned column = window % wide, row = window / wide % high, image = window / wide / high;
    bool pooled = row < k->height && column < k->width;
    size_t line = (size_t)(image * k->large_height + 2 * row) * k->large_width;
    size_t first = ((line + 2 * column) * k->chunks + chunk) * 8, small, corner[4];
    struct gpu16 zero = {{0, 0, 0, 0}}, x[4], d[4], dy = zero;
    bool is_there[4];

    small = ((size_t)(image * k->height + row) * k->width + column) * k->chunks + chunk;
    if (pooled)
        dy = gpu16_load(k->dy + small * 8);
    UNROLL
    for (unsigned n = 0; n < 4; n++) {
        is_there[n] = 2 * row + n / 2 < k->large_height && 2 * column + n % 2 < k->large_width;
        corner[n] = first + ((size_t)(n / 2) * k->large_width + n % 2) * k->chunks * 8;
        x[n] = is_there[n] ? gpu16_load(k->src + corner[n]) : zero;
        d[n] = zero;
    }
    if (pooled)
        scatter_gradient(k, f, x, &dy, d);
    UNROLL
    for (unsigned n = 0; n < 4; n++) {
        if (!is_there[n])
            continue;
        if (k->added) {
            struct gpu16 added = gpu16_load(k->added + corner[n]);

            UNROLL
            for (unsigned w = 0; w < 4; w++)
                d[n].word[w] = add_halves(d[n].word[w], added.word[w]);
        }
        gpu16_store(k->dst + corner[n], d[n]);
        if (k->partials)
            add_sums(sums, f, &x[n], &d[n]);
    }
}

/* A block computes one part of the windows. Its threads form rows as in norm_rows.cu. */
KERNEL_BLOCK(pool_back_part, pool_args)
{
    SHARED float values[GPU_ROWS(POOL_SUMS)];
    unsigned part = blockIdx.x, t = threadIdx.x, each = (k.n + k.nparts - 1) / k.nparts;
    unsigned begin = part * each, end = begin + each < k.n ? begin + each : k.n;

    for (unsigned first = 0; first < k.chunks; first += GPU_BLOCK) {
        unsigned width = k.chunks - first < GPU_BLOCK ? k.chunks - first : GPU_BLOCK;
        unsigned rows = GPU_BLOCK / width, row = t / width, chunk = first + t % width;
        unsigned pitch = gpu_rows_pitch(GPU_BLOCK, width);
        struct pool_norm f = load_norm(&k, chunk);
        float sums[POOL_SUMS] = {0};

        for (unsigned i = begin + row; row < rows && i < end; i += rows)
            pool_back_window(&k, &f, i, chunk, sums);
        if (!k.partials)
            continue;
        UNROLL
        for (unsigned j = 0; j < POOL_SUMS; j++)
            values[j * pitch + t] = sums[j];
        BARRIER();
        for (unsigned i = t; i < POOL_SUMS * width; i += GPU_BLOCK) {
            unsigned j = i / width, column = i % width;

            k.partials[((2 * part + j / 8) * k.chunks + first + column) * 8 + j % 8] =
                gpu_rows_sum(values, pitch, i, width, rows);
        }
        BARRIER();
    }
}

C_BEGIN

static struct pool_args chunks_pool_of(const struct op *op, const struct tensor *small,
                                       const struct tensor *large)
{
    struct pool_args k = {large->half, NULL, NULL,
                          op->in[OP_SCALE_SHIFT] ? op->in[OP_SCALE_SHIFT]->data : NULL,
                          op->out[0]->half, NULL, (unsigned)small->shape.dim[DIM_H],
                          (unsigned)small->shape.dim[DIM_W], (unsigned)tensor_channels(small) / 8,
                          (unsigned)large->shape.dim[DIM_H], (unsigned)large->shape.dim[DIM_W],
                          (unsigned)(tensor_count(small) / 8), 0};

    return k;
}

static int run_pool(struct op *op, struct exec *x, struct err *e)
{
    struct pool_args k = chunks_pool_of(op, op->out[0], op->in[0]);

    LAUNCH(pool_chunks, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static unsigned count_windows(const struct tensor *large)
{
    const int64_t *dim = large->shape.dim;

    return (unsigned)(dim[DIM_N] * ((dim[DIM_H] + 1) / 2) * ((dim[DIM_W] + 1) / 2));
}

static unsigned pool_parts(const struct tensor *large)
{
    unsigned n = (count_windows(large) + POOL_WINDOWS - 1) / POOL_WINDOWS;

    return n < POOL_PARTS ? n : POOL_PARTS;
}

static int prepare_pool_grad(struct op *op, struct err *e)
{
    cuda_set_parts(op->out[OP_OUT_SUMS], pool_parts(op->in[1]));
    return 0;
}

static int run_pool_grad(struct op *op, struct exec *x, struct err *e)
{
    struct pool_args k = chunks_pool_of(op, op->in[0], op->in[1]);

    k.dy = op->in[0]->half;
    k.added = op->in[OP_ADDED] ? op->in[OP_ADDED]->half : NULL;
    k.n = count_windows(op->in[1]);
    k.nparts = pool_parts(op->in[1]);
    k.partials = cuda_parts(op->out[OP_OUT_SUMS]);
    LAUNCH(pool_back_part, k.nparts, x->device->stream, k);
    return 0;
}

const struct kernel cuda_bf16_max_pool2d = {
    &max_pool2d_kind, cuda_supports_bf16, NULL, run_pool, NULL, OP_HAS_SCALE_SHIFT, 0,
    KERNEL_HALVES};
const struct kernel cuda_bf16_max_pool2d_grad = {
    &max_pool2d_grad_kind, cuda_supports_bf16, prepare_pool_grad, run_pool_grad, NULL,
    OP_GIVES_SUMS | OP_HAS_SCALE_SHIFT | OP_HAS_ADDED, 0, KERNEL_HALVES};

C_END
