/* SPDX-License-Identifier: BSD-3-Clause */
/* Ops that move numbers of 16 bits, of either type, and compute nothing. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <string.h>

typedef uint32_t wide __attribute__((vector_size(16), aligned(2), may_alias));
#define WIDE (sizeof(wide) / sizeof(uint16_t))

/* n numbers; a call costs more than the few of a pixel. */
static inline void copy(uint16_t *dst, const uint16_t *src, size_t n)
{
    if (n % WIDE)
        memcpy(dst, src, n * sizeof *dst);
    else
        for (size_t i = 0; i < n; i += WIDE)
            *(wide *)(dst + i) = *(const wide *)(src + i);
}

static int run_concat(struct op *op, struct exec *x, struct err *e)
{
    const uint16_t *a = op->in[0]->half, *b = op->in[1]->half;
    size_t na = tensor_channels(op->in[0]), nb = tensor_channels(op->in[1]);
    size_t npixels = tensor_pixels(op->out[0]);
    uint16_t *dst = op->out[0]->half;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++) {
        copy(dst + p * (na + nb), a + p * na, na);
        copy(dst + p * (na + nb) + na, b + p * nb, nb);
    }
    return 0;
}

static int run_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    const uint16_t *src = op->in[0]->half;
    size_t na = tensor_channels(op->out[0]), nb = tensor_channels(op->out[1]);
    size_t npixels = tensor_pixels(op->in[0]);
    uint16_t *a = op->out[0]->half, *b = op->out[1]->half;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++) {
        copy(a + p * na, src + p * (na + nb), na);
        copy(b + p * nb, src + p * (na + nb) + na, nb);
    }
    return 0;
}

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
        const uint16_t *s = src->half + begin_of(dst, src, row);
        uint16_t *d = dst->half + row * width * to;

        memset(d, 0, width * to * sizeof *d);
        for (size_t i = 0; i < width; i++)
            copy(d + i * to + offset, s + 2 * i * from, from);
    }
    return 0;
}

static int run_subsample_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    size_t width = (size_t)dy->shape.dim[DIM_W], nrows = tensor_pixels(dy) / width;
    size_t from = tensor_channels(dy), to = tensor_channels(dx), offset = offset_of(dy, dx);

    (void)x;
    (void)e;
    memset(dx->half, 0, tensor_nbytes(dx));
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        const uint16_t *s = dy->half + row * width * from;
        uint16_t *d = dx->half + begin_of(dy, dx, row);

        for (size_t i = 0; i < width; i++)
            copy(d + 2 * i * to, s + i * from + offset, to);
    }
    return 0;
}

/* Nothing to do where the result took the input's memory. */
static int run_reshape(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    if (op->out[0]->half != op->in[0]->half)
        memcpy(op->out[0]->half, op->in[0]->half, tensor_nbytes(op->out[0]));
    return 0;
}

/* 16 bits on both sides. */
static bool supports(const struct op *op)
{
    for (int i = 0; i < op->kind->nin; i++)
        if (op->in[i]->dtype == DTYPE_F32)
            return false;
    for (int i = 0; i < op->kind->nout; i++)
        if (op->out[i]->dtype != op->in[0]->dtype)
            return false;
    return true;
}

const struct kernel simd_half_concat = {&concat_kind, supports, NULL, run_concat, NULL};
const struct kernel simd_half_concat_grad = {&concat_grad_kind, supports, NULL, run_concat_grad,
                                             NULL};
const struct kernel simd_half_subsample = {&subsample_kind, supports, NULL, run_subsample, NULL};
const struct kernel simd_half_subsample_grad = {&subsample_grad_kind, supports, NULL,
                                                run_subsample_grad, NULL};
const struct kernel simd_half_reshape = {&reshape_kind, supports, NULL, run_reshape, NULL};
