/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling, its gradient, and the sum of that and another gradient. */
#include "config.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"

static bool max_pool2d_supports(const struct op *op)
{
    const struct tensor *x = op->in[op->kind->nin - 1];

#ifdef __x86_64__
    if (simd_isa() < SIMD_AVX2)
        return false;
#endif
    return tensor_channels(x) % MAX_POOL2D_LANES == 0 && x->shape.dim[DIM_H] > 1;
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
