/* SPDX-License-Identifier: BSD-3-Clause */
/* ReLU and max pooling in one op. In place of the input its gradient reads the result, and two bits
 * for each of its values: which of the four was the largest (eight values to a float,
 * core/op.h). */
#include "config.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"

#include <string.h>

#include "trainer/backends/ref/vector.h"

#define LANES OP_PLACES

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t mask __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* a in the lanes where the mask is set, b in the others. */
#define WHERE(m, a, b) ((vec)(((mask)(a) & (m)) | ((mask)(b) & ~(m))))

static const int32_t shifts[LANES] = {0, 2, 4, 6, 8, 10, 12, 14};

/* Pools two rows of x, `width` pixels of n channels each, into one row of y. Each element of places
 * holds the two bits of LANES values (core/op.h). */
VECTOR_CLONES static void relu_max_pool2d_rows(const float *x, size_t width, size_t n, float *y,
                                               float *places)
{
    const mask shift = *(const mask *)shifts;

    for (size_t p = 0; p < width / 2; p++, x += n)
        for (size_t c = 0; c < n; c += LANES, x += LANES, y += LANES) {
            const float *under = x + width * n;
            vec a = *(const vec *)x, b = *(const vec *)(x + n);
            vec d = *(const vec *)under, e = *(const vec *)(under + n);
            mask top = a >= b, bottom = d >= e;
            vec above = WHERE(top, a, b), below = WHERE(bottom, d, e);
            mask upper = above >= below;
            vec most = WHERE(upper, above, below);
            mask place = (upper & (1 + top)) | (~upper & (3 + bottom)); /* true is -1 */
            int32_t sum = 0;

            *(vec *)y = (vec)((mask)most & (most > 0));
            place <<= shift;
            for (size_t l = 0; l < LANES; l++)
                sum += place[l];
            *places++ = (float)sum;
        }
}

/* Writes two rows of dx; an odd last column, which no window covers, becomes 0. */
VECTOR_CLONES static void relu_max_pool2d_grad_rows(const float *dy, const float *y,
                                                    const float *places, size_t width, size_t n,
                                                    float *dx)
{
    const mask shift = *(const mask *)shifts;
    size_t row = width * n;

    for (size_t p = 0; p < width / 2; p++, dx += n)
        for (size_t c = 0; c < n; c += LANES, dy += LANES, y += LANES, dx += LANES) {
            mask place = ((int32_t)*places++ + (mask){0}) >> shift & 3;
            mask rest = *(const mask *)dy & (*(const vec *)y > 0);

            *(mask *)dx = rest & (place == 0);
            *(mask *)(dx + n) = rest & (place == 1);
            *(mask *)(dx + row) = rest & (place == 2);
            *(mask *)(dx + row + n) = rest & (place == 3);
        }
    if (width % 2) {
        memset(dx, 0, n * sizeof *dx);
        memset(dx + row, 0, n * sizeof *dx);
    }
}

static int relu_max_pool2d_run_forward(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W], line = width / 2 * n;
    size_t height = (size_t)dst->shape.dim[DIM_H], nrows = (size_t)dst->shape.dim[DIM_N] * height;

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        if (row + 1 < nrows)
            simd_fetch(src->data + tensor_halved_row(src, row + 1, height) * width * n,
                       2 * width * n);
        relu_max_pool2d_rows(src->data + tensor_halved_row(src, row, height) * width * n, width, n,
                             dst->data + row * line, op->out[1]->data + row * line / LANES);
    }
    return 0;
}

/* (dy, y, places) -> dx */
static int relu_max_pool2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *y = op->in[1], *dx = op->out[0];
    size_t n = tensor_channels(y), width = (size_t)dx->shape.dim[DIM_W], line = width / 2 * n;
    size_t height = (size_t)y->shape.dim[DIM_H], nrows = (size_t)y->shape.dim[DIM_N] * height;
    size_t rest = (size_t)dx->shape.dim[DIM_H] - 2 * height;

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        float *to = dx->data + tensor_halved_row(dx, row, height) * width * n;

        relu_max_pool2d_grad_rows(dy->data + row * line, y->data + row * line,
                                  op->in[2]->data + row * line / LANES, width, n, to);
        if (rest && row % height == height - 1)
            memset(to + 2 * width * n, 0, width * n * sizeof *to);
    }
    return 0;
}

static bool relu_max_pool2d_supports_forward(const struct op *op)
{
    return tensor_channels(op->in[0]) % LANES == 0;
}

static bool relu_max_pool2d_supports_grad(const struct op *op)
{
    return tensor_channels(op->out[0]) % LANES == 0;
}

const struct kernel simd_relu_max_pool2d = {
    .kind = &relu_max_pool2d_kind, .supports = relu_max_pool2d_supports_forward,
    .run = relu_max_pool2d_run_forward};
const struct kernel simd_relu_max_pool2d_grad = {
    .kind = &relu_max_pool2d_grad_kind, .supports = relu_max_pool2d_supports_grad,
    .run = relu_max_pool2d_run_grad};
