/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling in bf16: the largest of four, its gradient alone or added to another one at once; the
 * mean of a whole picture. */
#include "config.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"

#include <string.h>

#include "trainer/backends/cpu/isa/bf16.h"

#define LANES 8
#ifdef __x86_64__
#define ISA __attribute__((target("avx2")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/bf16_isa.inc"

/* a where the mask is set, else b */
#define choose(which, a, b) ((vec)(((mask)(a) & (which)) | ((mask)(b) & ~(which))))

/* Two rows of src, `width` pixels of n channels each, become one row of dst. */
ISA static void bf16_pool_rows(const uint16_t *src, size_t width, size_t n, uint16_t *dst)
{
    size_t row = width * n;

    for (size_t p = 0; p < width / 2; p++, src += n)
        for (size_t c = 0; c < n; c += LANES, src += LANES, dst += LANES) {
            vec a = load_numbers(src), b = load_numbers(src + n);
            vec d = load_numbers(src + row), e = load_numbers(src + row + n);
            vec top = choose(a > b, a, b), bottom = choose(d > e, d, e);

            store_numbers(dst, choose(top > bottom, top, bottom));
        }
}

/* Two rows of x; with_add, a constant once inlined: else add is 0. dx may be add. */
INLINE void pool_grad(const uint16_t *dy, const uint16_t *x, const uint16_t *add, bool with_add,
                      size_t width, size_t n, uint16_t *dx)
{
    size_t row = width * n;

    for (size_t p = 0, at = 0; p < width / 2; p++, at += n)
        for (size_t c = 0; c < n; c += LANES, dy += LANES, at += LANES) {
            const size_t to[4] = {at, at + n, at + row, at + row + n};
            vec v[4], d = load_numbers(dy);

#pragma GCC unroll 4
            for (size_t i = 0; i < 4; i++)
                v[i] = load_numbers(x + to[i]);
            mask top = v[0] >= v[1], bottom = v[2] >= v[3];
            mask upper = choose(top, v[0], v[1]) >= choose(bottom, v[2], v[3]);
            const mask largest[4] = {upper & top, upper & ~top, ~upper & bottom, ~upper & ~bottom};
#pragma GCC unroll 4
            for (size_t i = 0; i < 4; i++) {
                vec value = (vec)((mask)d & largest[i]);

                if (with_add)
                    value += load_numbers(add + to[i]);
                store_numbers(dx + to[i], value);
            }
        }
}

ISA static void bf16_pool_grad_rows(const uint16_t *dy, const uint16_t *x, const uint16_t *add,
                                    size_t width, size_t n, uint16_t *dx)
{
    if (add)
        pool_grad(dy, x, add, true, width, n, dx);
    else
        pool_grad(dy, x, x, false, width, n, dx);
}

static int bf16_pool_run_max_pool2d(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W];
    size_t height = (size_t)dst->shape.dim[DIM_H];
    size_t nrows = (size_t)dst->shape.dim[DIM_N] * height;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++)
        bf16_pool_rows(src->half + tensor_halved_row(src, row, height) * width * n, width, n,
                       dst->half + row * (width / 2) * n);
    return 0;
}

/* What pooling left out has no gradient of it: n numbers of dx are those of add, or 0. */
static void bf16_pool_fill(const uint16_t *add, size_t n, uint16_t *dx)
{
    if (!add)
        memset(dx, 0, n * sizeof *dx);
    else if (add != dx)
        memcpy(dx, add, n * sizeof *dx);
}

static void bf16_pool_run_rows(const struct tensor *dy, const struct tensor *src,
                               const uint16_t *add, uint16_t *dx)
{
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W], line = width * n;
    size_t height = (size_t)dy->shape.dim[DIM_H], rest = (size_t)src->shape.dim[DIM_H] - 2 * height;
    size_t nrows = (size_t)dy->shape.dim[DIM_N] * height;

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        size_t at = tensor_halved_row(src, row, height) * line;
        const uint16_t *more = add ? add + at : NULL;

        if (width % 2)
            for (size_t i = 1; i <= 2; i++)
                bf16_pool_fill(more ? more + i * line - n : NULL, n, dx + at + i * line - n);
        if (rest && row % height == height - 1)
            bf16_pool_fill(more ? more + 2 * line : NULL, line, dx + at + 2 * line);
        bf16_pool_grad_rows(dy->half + row * (width / 2) * n, src->half + at, more, width, n,
                            dx + at);
    }
}

static int bf16_pool_run_max_pool2d_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *added = op->in[OP_ADDED];

    (void)x;
    (void)e;
    bf16_pool_run_rows(op->in[0], op->in[1], added ? added->half : NULL, op->out[0]->half);
    return 0;
}

/* Of a single row dy would have none. */
static bool bf16_pool_supports(const struct op *op)
{
    return simd_isa() >= SIMD_AVX2 && bf16_all(op) && tensor_channels(op->in[0]) % LANES == 0 &&
           op->in[op->kind->nin - 1]->shape.dim[DIM_H] > 1;
}

/* One thread adds up some channels of an image: the same order for any number of threads. */
ISA static void sum_pixels(const uint16_t *src, size_t npixels, size_t n, uint16_t *dst)
{
    vec sum = {0};

    for (size_t p = 0; p < npixels; p++)
        sum += load_numbers(src + p * n);
    store_numbers(dst, sum / (float)npixels);
}

ISA static void spread_pixels(const uint16_t *dy, size_t npixels, size_t n, uint16_t *dx)
{
    for (size_t c = 0; c < n; c += LANES) {
        vec d = load_numbers(dy + c) / (float)npixels;

        for (size_t p = 0; p < npixels; p++)
            store_numbers(dx + p * n + c, d);
    }
}

static int bf16_pool_run_global_avg_pool(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    size_t nc = tensor_channels(src), n = (size_t)src->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(src) / n;

    (void)x;
    (void)e;
#pragma omp parallel for collapse(2) schedule(static)
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < nc; c += LANES)
            sum_pixels(src->half + i * npixels * nc + c, npixels, nc,
                       op->out[0]->half + i * nc + c);
    return 0;
}

static int bf16_pool_run_global_avg_pool_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dx = op->out[0];
    size_t nc = tensor_channels(dx), n = (size_t)dx->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(dx) / n;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        spread_pixels(op->in[0]->half + i * nc, npixels, nc, dx->half + i * npixels * nc);
    return 0;
}

static bool bf16_pool_supports_global(const struct op *op)
{
    return simd_isa() >= SIMD_AVX2 && bf16_all(op) && tensor_channels(op->in[0]) % LANES == 0;
}

const struct kernel simd_bf16_max_pool2d = {
    .kind = &max_pool2d_kind, .supports = bf16_pool_supports, .run = bf16_pool_run_max_pool2d,
    .types = KERNEL_HALVES};
const struct kernel simd_bf16_max_pool2d_grad = {
    .kind = &max_pool2d_grad_kind, .supports = bf16_pool_supports,
    .run = bf16_pool_run_max_pool2d_grad, .may = OP_HAS_ADDED, .types = KERNEL_HALVES};
const struct kernel simd_bf16_global_avg_pool = {
    .kind = &global_avg_pool_kind, .supports = bf16_pool_supports_global,
    .run = bf16_pool_run_global_avg_pool, .types = KERNEL_HALVES};
const struct kernel simd_bf16_global_avg_pool_grad = {
    .kind = &global_avg_pool_grad_kind, .supports = bf16_pool_supports_global,
    .run = bf16_pool_run_global_avg_pool_grad, .types = KERNEL_HALVES};
