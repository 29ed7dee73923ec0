/* SPDX-License-Identifier: BSD-3-Clause */
/* ReLU and max pooling in one op that records which value was the largest, and its gradient. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <string.h>

/* Returns the index in x of the first value of the window that value i of y covers, and sets to[]
 * to the distances of the four values from it, in reading order. */
static size_t window_of(const struct tensor *x, const struct tensor *y, size_t i, size_t to[4])
{
    size_t n = tensor_channels(x), width = (size_t)x->shape.dim[DIM_W], half = width / 2;
    size_t pixel = i / n, row = tensor_halved_row(x, pixel / half, (size_t)y->shape.dim[DIM_H]);

    to[0] = 0, to[1] = n, to[2] = width * n, to[3] = (width + 1) * n;
    return (row * width + pixel % half * 2) * n + i % n;
}

static unsigned pool(const float *x, const size_t to[4], float *y)
{
    bool top = x[to[0]] >= x[to[1]], bottom = x[to[2]] >= x[to[3]];
    float above = x[to[top ? 0 : 1]], below = x[to[bottom ? 2 : 3]];
    bool upper = above >= below;
    float most = upper ? above : below;

    *y = most > 0 ? most : 0;
    return upper ? !top : 2 + !bottom;
}

static int ref_relu_max_pool2d_run_forward(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t n = tensor_count(dst);

#pragma omp parallel for schedule(static)
    for (size_t group = 0; group < tensor_count(op->out[1]); group++) {
        unsigned places = 0;

        for (size_t k = 0; k < OP_PLACES && group * OP_PLACES + k < n; k++) {
            size_t i = group * OP_PLACES + k, to[4], from = window_of(src, dst, i, to);

            places |= pool(src->data + from, to, dst->data + i) << 2 * k;
        }
        op->out[1]->data[group] = (float)places;
    }
    return 0;
}

/* (dy, y, places) -> dx */
static int ref_relu_max_pool2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *y = op->in[1], *dx = op->out[0];

    memset(dx->data, 0, tensor_nbytes(dx));
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < tensor_count(y); i++) {
        unsigned places = (unsigned)op->in[2]->data[i / OP_PLACES];
        size_t to[4], from = window_of(dx, y, i, to);

        if (y->data[i] > 0)
            dx->data[from + to[places >> 2 * (i % OP_PLACES) & 3]] = dy->data[i];
    }
    return 0;
}

const struct kernel ref_relu_max_pool2d = {
    .kind = &relu_max_pool2d_kind, .run = ref_relu_max_pool2d_run_forward};
const struct kernel ref_relu_max_pool2d_grad = {
    .kind = &relu_max_pool2d_grad_kind, .run = ref_relu_max_pool2d_run_grad};
