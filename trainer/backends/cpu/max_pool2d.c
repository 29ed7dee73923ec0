/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling of 2x2 pixels and its gradient. */
#include "config.h"
#include "trainer/backends/cpu/simd.h"

#include <string.h>

/* The inner loops of max pooling over 2x2 pixels. */

#define MAX_POOL2D_LANES 8 /* the number of channels is a multiple of this */

/* Pools two rows of x into one row of y. The rows have `width` pixels of n channels, the second
 * begins `line` numbers after the first. Equal values and NaN give the reference's result. */
void max_pool2d_rows(const float *x, size_t line, size_t width, size_t n, float *y);

/* Writes two rows of dx from two rows of x, of `width` pixels each, and one row of dy: the first
 * largest value of each window gets dy, the others 0. Adds two rows of `added`, unless that is
 * NULL. dx may be `added`. An odd last column is not written. */
void max_pool2d_rows_grad(const float *dy, const float *x, const float *added, size_t width,
                          size_t n, float *dx);

/* The inner loops of max pooling. */

#define LANES MAX_POOL2D_LANES
#ifdef __x86_64__
#include <immintrin.h>

#define ISA __attribute__((target("avx2")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/vec_isa.inc"

/* a in the lanes where the mask is set, b in the others. */
#define choose(which, a, b) ((vec)(((mask)(a) & (which)) | ((mask)(b) & ~(which))))

/* a > b ? a : b, so b if one of them is NaN. */
#ifdef __x86_64__
#define larger(a, b) ((vec)_mm256_max_ps((__m256)(a), (__m256)(b)))
#else
#define larger(a, b) choose((a) > (b), a, b)
#endif

ISA void max_pool2d_rows(const float *x, size_t line, size_t width, size_t n, float *y)
{
    for (size_t p = 0; p < width / 2; p++, x += n)
        for (size_t c = 0; c < n; c += LANES, x += LANES, y += LANES) {
            vec a = load(x), b = load(x + n);
            vec d = load(x + line), e = load(x + line + n);

            store(y, larger(larger(a, b), larger(d, e)));
        }
}

/* has_added is a constant once this is inlined; if it is false, `added` is not read. */
INLINE void grad_rows(const float *dy, const float *x, const float *added, bool has_added,
                      size_t width, size_t n, float *dx)
{
    size_t row = width * n;

    for (size_t p = 0, at = 0; p < width / 2; p++, at += n)
        for (size_t c = 0; c < n; c += LANES, dy += LANES, at += LANES) {
            const size_t window[4] = {at, at + n, at + row, at + row + n};
            vec v[4], d = load(dy);

#pragma GCC unroll 4
            for (size_t i = 0; i < 4; i++)
                v[i] = load(x + window[i]);
            mask top = v[0] >= v[1], bottom = v[2] >= v[3];
            mask upper = choose(top, v[0], v[1]) >= choose(bottom, v[2], v[3]);
            const mask largest[4] = {upper & top, upper & ~top, ~upper & bottom, ~upper & ~bottom};
#pragma GCC unroll 4
            for (size_t i = 0; i < 4; i++) {
                vec value = (vec)((mask)d & largest[i]);

                if (has_added)
                    value += load(added + window[i]);
                store(dx + window[i], value);
            }
        }
}

ISA void max_pool2d_rows_grad(const float *dy, const float *x, const float *added, size_t width,
                              size_t n, float *dx)
{
    if (added)
        grad_rows(dy, x, added, true, width, n, dx);
    else
        grad_rows(dy, x, x, false, width, n, dx);
}

/* Max pooling, its gradient, and the sum of that and another gradient. */

static bool max_pool2d_supports(const struct op *op)
{
    const struct tensor *x = op->in[op->kind->nin - 1];

#ifdef __x86_64__
    if (simd_isa() < SIMD_AVX2)
        return false;
#endif
    return op->attr.kernel != 3 && tensor_channels(x) % MAX_POOL2D_LANES == 0 &&
           x->shape.dim[DIM_H] > 1;
}

static int max_pool2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W];
    size_t line = width * n, height = (size_t)dst->shape.dim[DIM_H];
    size_t src_height = (size_t)src->shape.dim[DIM_H];

#pragma omp parallel for collapse(2) schedule(static)
    for (size_t image = 0; image < (size_t)dst->shape.dim[DIM_N]; image++)
        for (size_t y = 0; y < height; y++) {
            const float *from = src->data + (image * src_height + 2 * y) * line;

            max_pool2d_rows(from, line, width, n,
                            dst->data + (image * height + y) * (width / 2) * n);
        }
    return 0;
}

/* Writes n values of dx that no window covers: those of `added`, or 0. */
static void fill_uncovered(const float *added, size_t n, float *dx)
{
    if (!added)
        memset(dx, 0, n * sizeof *dx);
    else if (added != dx)
        memcpy(dx, added, n * sizeof *dx);
}

/* added: a tensor that the gradient is added to, or NULL. */
static void run_grad(const struct tensor *added, const struct tensor *dy, const struct tensor *x,
                     const struct tensor *dst)
{
    size_t width = (size_t)x->shape.dim[DIM_W], n = tensor_channels(x), line = width * n;
    size_t height = (size_t)dy->shape.dim[DIM_H], x_height = (size_t)x->shape.dim[DIM_H];

#pragma omp parallel for collapse(2) schedule(static)
    for (size_t image = 0; image < (size_t)dy->shape.dim[DIM_N]; image++)
        for (size_t y = 0; y < height; y++) {
            size_t at = (image * x_height + 2 * y) * line;
            const float *more = added ? added->data + at : NULL;
            float *dx = dst->data + at;

            for (size_t i = 1; width % 2 && i <= 2; i++)
                fill_uncovered(more ? more + i * line - n : NULL, n, dx + i * line - n);
            if (x_height % 2 && y + 1 == height)
                fill_uncovered(more ? more + 2 * line : NULL, line, dx + 2 * line);
            max_pool2d_rows_grad(dy->data + (image * height + y) * (width / 2) * n, x->data + at,
                                 more, width, n, dx);
        }
}

static int max_pool2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    run_grad(NULL, op->in[0], op->in[1], op->out[0]);
    return 0;
}

static int max_pool2d_run_grad_add(struct op *op, struct exec *x, struct err *e)
{
    run_grad(op->in[0], op->in[1], op->in[2], op->out[0]);
    return 0;
}

const struct kernel simd_max_pool2d = {
    .kind = &max_pool2d_kind, .supports = max_pool2d_supports, .run = max_pool2d_run};
const struct kernel simd_max_pool2d_grad = {
    .kind = &max_pool2d_grad_kind, .supports = max_pool2d_supports,
    .run = max_pool2d_run_grad};
const struct kernel simd_max_pool2d_grad_add = {
    .kind = &max_pool2d_grad_add_kind, .supports = max_pool2d_supports,
    .run = max_pool2d_run_grad_add};
