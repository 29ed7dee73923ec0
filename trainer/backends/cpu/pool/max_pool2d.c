/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling, its gradient, and that added to another one at once. */
#include "config.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"
#include "trainer/backends/ref/vector.h"

#define LANES 8

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t mask __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* a in the lanes of the mask, b in the others */
#define WHERE(m, a, b) ((vec)(((mask)(a) & (m)) | ((mask)(b) & ~(m))))

VECTOR_CLONES static void max_pool2d_pool_rows(const float *x, size_t line, size_t width, size_t n,
                                               float *y)
{
    for (size_t p = 0; p < width / 2; p++, x += n)
        for (size_t c = 0; c < n; c += LANES, x += LANES, y += LANES) {
            const float *below = x + line;
            vec a = *(const vec *)x, b = *(const vec *)(x + n);
            vec d = *(const vec *)below, e = *(const vec *)(below + n);
            vec top = WHERE(a > b, a, b), bottom = WHERE(d > e, d, e);

            *(vec *)y = WHERE(top > bottom, top, bottom);
        }
}

void max_pool2d_rows(const float *x, size_t line, size_t width, size_t n, float *y)
{
    max_pool2d_pool_rows(x, line, width, n, y);
}

VECTOR_CLONES static void max_pool2d_pool_grad_rows(const float *dy, const float *x,
                                                    const float *add, size_t width, size_t n,
                                                    float *dx)
{
    size_t row = width * n;

    for (size_t p = 0; p < width / 2; p++, x += n, dx += n, add += add ? n : 0)
        for (size_t c = 0; c < n; c += LANES, dy += LANES, x += LANES, dx += LANES) {
            const size_t at[4] = {0, n, row, row + n};
            vec v[4], d = *(const vec *)dy;

            for (size_t i = 0; i < 4; i++)
                v[i] = *(const vec *)(x + at[i]);
            mask top = v[0] >= v[1], bottom = v[2] >= v[3];
            mask upper = WHERE(top, v[0], v[1]) >= WHERE(bottom, v[2], v[3]), rest = (mask)d;
            const mask to[4] = {rest & upper & top, rest & upper & ~top, rest & ~upper & bottom,
                                rest & ~upper & ~bottom};
            for (size_t i = 0; i < 4; i++) {
                vec value = (vec)to[i];

                if (add)
                    value += *(const vec *)(add + at[i]);
                *(vec *)(dx + at[i]) = value;
            }
            add += add ? LANES : 0;
        }
}

void max_pool2d_grad_rows(const float *dy, const float *x, const float *add, size_t width, size_t n,
                          float *dx)
{
    max_pool2d_pool_grad_rows(dy, x, add, width, n, dx);
}

static void max_pool2d_run_rows(const struct tensor *dy, const struct tensor *src, const float *add,
                                float *dx)
{
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W];
    size_t nrows = (size_t)(dy->shape.dim[DIM_N] * dy->shape.dim[DIM_H]);

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++)
        max_pool2d_pool_grad_rows(dy->data + row * (width / 2) * n, src->data + 2 * row * width * n,
                                  add ? add + 2 * row * width * n : NULL, width, n,
                                  dx + 2 * row * width * n);
}

static int max_pool2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W];
    size_t nrows = (size_t)(dst->shape.dim[DIM_N] * dst->shape.dim[DIM_H]);

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        if (row + 1 < nrows)
            simd_fetch(src->data + 2 * (row + 1) * width * n, 2 * width * n);
        max_pool2d_pool_rows(src->data + 2 * row * width * n, width * n, width, n,
                             dst->data + row * (width / 2) * n);
    }
    return 0;
}

static int max_pool2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *added = op->in[OP_ADDED];

    (void)x;
    (void)e;
    max_pool2d_run_rows(op->in[0], op->in[1], added ? added->data : NULL, op->out[0]->data);
    return 0;
}

bool max_pool2d_supports(const struct op *op)
{
    const struct tensor *x = op->in[op->kind->nin - 1];

    return tensor_channels(x) % LANES == 0 && x->shape.dim[DIM_H] % 2 == 0 &&
           x->shape.dim[DIM_W] % 2 == 0;
}

const struct kernel simd_max_pool2d = {
    .kind = &max_pool2d_kind, .supports = max_pool2d_supports, .run = max_pool2d_run};
const struct kernel simd_max_pool2d_grad = {
    .kind = &max_pool2d_grad_kind, .supports = max_pool2d_supports, .run = max_pool2d_run_grad,
    .may = OP_HAS_ADDED};
