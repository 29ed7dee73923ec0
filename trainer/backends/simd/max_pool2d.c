/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of max pooling, alone or added to another one at once. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include "trainer/backends/vector.h"

#define LANES 8

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t mask __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* Two rows of x, `width` pixels of n channels each; add NULL: 0. dx may be add. */
VECTOR_CLONES static void pool_grad_rows(const float *dy, const float *x, const float *add,
                                         size_t width, size_t n, float *dx)
{
    size_t row = width * n;

    for (size_t p = 0; p < width / 2; p++, x += n, dx += n, add += add ? n : 0)
        for (size_t c = 0; c < n; c += LANES, dy += LANES, x += LANES, dx += LANES) {
            const size_t at[4] = {0, n, row, row + n};
            vec v[4], largest, d = *(const vec *)dy;
            mask rest;

            for (size_t i = 0; i < 4; i++)
                v[i] = *(const vec *)(x + at[i]);
            mask top = v[0] >= v[1], bottom = v[2] >= v[3];
            largest = (vec)(((mask)v[0] & top) | ((mask)v[1] & ~top));
            vec below = (vec)(((mask)v[2] & bottom) | ((mask)v[3] & ~bottom));
            mask upper = largest >= below;
            rest = (mask)d;
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

static void run_rows(const struct tensor *dy, const struct tensor *src, const float *add,
                     float *dx)
{
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W];
    size_t nrows = (size_t)(dy->shape.dim[DIM_N] * dy->shape.dim[DIM_H]);

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++)
        pool_grad_rows(dy->data + row * (width / 2) * n, src->data + 2 * row * width * n,
                       add ? add + 2 * row * width * n : NULL, width, n,
                       dx + 2 * row * width * n);
}

static int run_grad(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    run_rows(op->in[0], op->in[1], NULL, op->out[0]->data);
    return 0;
}

static int run_grad_add(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    run_rows(op->in[1], op->in[2], op->in[0]->data, op->out[0]->data);
    return 0;
}

static bool supports(const struct op *op)
{
    const struct tensor *x = op->in[op->kind->nin - 1];

    return tensor_channels(x) % LANES == 0 && x->shape.dim[DIM_H] % 2 == 0 &&
           x->shape.dim[DIM_W] % 2 == 0;
}

const struct kernel simd_max_pool2d_grad = {&max_pool2d_grad_kind, supports, NULL, run_grad, NULL};
const struct kernel simd_max_pool2d_grad_add = {&max_pool2d_grad_add_kind, supports, NULL,
                                                run_grad_add, NULL};
