/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <string.h>

/* large has twice the height and width of small, or one less; its channels are in the middle. */
static size_t offset_of(const struct tensor *small, const struct tensor *large)
{
    return (tensor_channels(small) - tensor_channels(large)) / 2;
}

/* Where row (image and row, counted through) of small begins in large. */
static size_t begin_of(const struct tensor *small, const struct tensor *large, size_t row)
{
    size_t height = (size_t)small->shape.dim[DIM_H];
    size_t line = row / height * (size_t)large->shape.dim[DIM_H] + row % height * 2;

    return line * (size_t)large->shape.dim[DIM_W] * tensor_channels(large);
}

static int run_subsample(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t width = (size_t)dst->shape.dim[DIM_W], nrows = tensor_pixels(dst) / width;
    size_t from = tensor_channels(src), to = tensor_channels(dst), offset = offset_of(dst, src);

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        const float *s = src->data + begin_of(dst, src, row);
        float *d = dst->data + row * width * to;

        memset(d, 0, width * to * sizeof *d);
        for (size_t i = 0; i < width; i++)
            memcpy(d + i * to + offset, s + 2 * i * from, from * sizeof *d);
    }
    return 0;
}

static int run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    size_t width = (size_t)dy->shape.dim[DIM_W], nrows = tensor_pixels(dy) / width;
    size_t from = tensor_channels(dy), to = tensor_channels(dx), offset = offset_of(dy, dx);

    (void)x;
    (void)e;
    memset(dx->data, 0, tensor_count(dx) * sizeof *dx->data);
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        const float *s = dy->data + row * width * from;
        float *d = dx->data + begin_of(dy, dx, row);

        for (size_t i = 0; i < width; i++)
            memcpy(d + 2 * i * to, s + i * from + offset, to * sizeof *d);
    }
    return 0;
}

const struct kernel ref_subsample = {&subsample_kind, NULL, NULL, run_subsample, NULL};
const struct kernel ref_subsample_grad = {&subsample_grad_kind, NULL, NULL, run_grad, NULL};
