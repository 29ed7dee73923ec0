/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling of floats or bf16, its gradient, and the sum of that and another gradient. */
#include "config.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"
#include "trainer/backends/ref/move.h"

static const struct max_pool2d_rows *max_pool2d_rows_of(const struct tensor *t)
{
    return t->dtype == DTYPE_F32    ? &max_pool2d_rows_float
           : t->dtype == DTYPE_BF16 ? &max_pool2d_rows_bf16
                                    : NULL;
}

bool max_pool2d_supports(const struct op *op)
{
    const struct tensor *x = op->in[op->kind->nin - 1];

#ifdef __x86_64__
    if (simd_isa() < SIMD_AVX2)
        return false;
#endif
    return max_pool2d_rows_of(x) && tensor_channels(x) % MAX_POOL2D_LANES == 0 &&
           x->shape.dim[DIM_H] > 1;
}

static bool max_pool2d_kernel_supports(const struct op *op)
{
    return max_pool2d_supports(op) && move_supports(op);
}

static int max_pool2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    const struct max_pool2d_rows *rows = max_pool2d_rows_of(src);
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W];
    size_t line = width * move_pixel(src), height = (size_t)dst->shape.dim[DIM_H];
    size_t src_height = (size_t)src->shape.dim[DIM_H];

    (void)x;
    (void)e;
#pragma omp parallel for collapse(2) schedule(static)
    for (size_t image = 0; image < (size_t)dst->shape.dim[DIM_N]; image++)
        for (size_t y = 0; y < height; y++) {
            const char *from = src->bytes + (image * src_height + 2 * y) * line;

            rows->pool(from, width * n, width, n,
                       dst->bytes + (image * height + y) * (width / 2) * move_pixel(dst));
        }
    return 0;
}

/* Writes nbytes of dx that no window covers: those of `added`, or 0. */
static void fill_uncovered(const char *added, size_t nbytes, char *dx)
{
    if (!added)
        memset(dx, 0, nbytes);
    else if (added != dx)
        memcpy(dx, added, nbytes);
}

static int max_pool2d_run_grad(struct op *op, struct exec *e, struct err *err)
{
    const struct tensor *dy = op->in[0], *x = op->in[1], *added = op->in[OP_ADDED];
    const struct max_pool2d_rows *rows = max_pool2d_rows_of(x);
    size_t width = (size_t)x->shape.dim[DIM_W], pixel = move_pixel(x), line = width * pixel;
    size_t height = (size_t)dy->shape.dim[DIM_H], x_height = (size_t)x->shape.dim[DIM_H];

    (void)e;
    (void)err;
#pragma omp parallel for collapse(2) schedule(static)
    for (size_t image = 0; image < (size_t)dy->shape.dim[DIM_N]; image++)
        for (size_t y = 0; y < height; y++) {
            size_t at = (image * x_height + 2 * y) * line;
            const char *more = added ? added->bytes + at : NULL;
            char *dx = op->out[0]->bytes + at;

            for (size_t i = 1; width % 2 && i <= 2; i++)
                fill_uncovered(more ? more + i * line - pixel : NULL, pixel, dx + i * line - pixel);
            if (x_height % 2 && y + 1 == height)
                fill_uncovered(more ? more + 2 * line : NULL, line, dx + 2 * line);
            rows->grad(dy->bytes + (image * height + y) * (width / 2) * pixel, x->bytes + at, more,
                       width, tensor_channels(x), dx);
        }
    return 0;
}

const struct kernel simd_max_pool2d = {
    .kind = &max_pool2d_kind, .supports = max_pool2d_kernel_supports, .run = max_pool2d_run,
    .types = KERNEL_ANY};
const struct kernel simd_max_pool2d_grad = {
    .kind = &max_pool2d_grad_kind, .supports = max_pool2d_kernel_supports,
    .run = max_pool2d_run_grad, .may = OP_HAS_ADDED, .types = KERNEL_ANY};
