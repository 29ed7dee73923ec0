/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of the weights of transposed 2x2 convolutions, and 1x1 convolutions to one channel. */
#include "src/base.h"
#include "trainer/backends/cpu/simd.h"

#include "trainer/backends/cpu/conv_rows.h"

/* The gradient of the weights of transposed 2x2 convolutions. The two pixels that a pixel of x
 * becomes in one row of y are neighbours in memory: [2][co], if y has co channels. */

#define SIDE 2           /* the window's side and the stride */
#define MAX_WEIGHTS 32768 /* channels of x times channels of y: what fits into a core's cache */

/* op->priv */
struct conv_transpose2d {
    const struct conv_rows *rows;
    size_t nrows, width;  /* rows of x over all images; pixels of a row */
    size_t nx, wide;      /* channels of x; values of two pixels of y */
    size_t nthreads, nchunks;
    size_t packed, sums;  /* floats of the sums of the weights; of one chunk */
};

static bool conv_transpose2d_supports(const struct op *op)
{
    const struct conv_rows *rows = conv_rows_best();
    size_t ci = tensor_channels(op->in[1]), co = tensor_channels(op->in[0]);

    return rows && ci * co <= MAX_WEIGHTS &&
           ci % rows->lanes == 0 && SIDE * co % rows->lanes == 0;
}

static int conv_transpose2d_prepare(struct op *op, struct err *e)
{
    const struct tensor *x = op->in[1];
    struct conv_transpose2d c = {
        .rows = conv_rows_best(), .nrows = (size_t)(x->shape.dim[DIM_N] * x->shape.dim[DIM_H]),
        .width = (size_t)x->shape.dim[DIM_W], .nx = tensor_channels(x),
        .wide = SIDE * tensor_channels(op->in[0]), .nthreads = simd_threads()};

    c.packed = SIDE * c.nx * c.wide;
    c.nchunks = conv_rows_chunks(c.nrows * c.width);
    c.sums = c.packed + c.wide;
    op->workspace_size = c.nchunks * c.sums * sizeof(float);
    return simd_keep(op, &c, sizeof c, e);
}

/* Returns the two rows of dy that belong to a row of x, and prefetches the next two. */
static const float *read_dy(const struct conv_transpose2d *c, const struct tensor *dy, size_t row)
{
    size_t two_rows = SIDE * c->width * c->wide;

    simd_fetch(dy->data + (row + 1) * two_rows, row + 1 < c->nrows ? two_rows : 0);
    return dy->data + row * two_rows;
}

/* Adds the products of one row of x with the two rows of dy to sums[block of l][a][i][l], for row a
 * of dy, channel i of x and value l of a pixel pair; a block is one vector. Behind these it adds
 * the sums of both rows of dy for each l. */
static void conv_transpose2d_add_weights(const struct conv_transpose2d *c, const float *src,
                                         const float *dy, float *sums)
{
    size_t lanes = c->rows->lanes;

    for (size_t l = 0; l < c->wide; l += lanes) {
        const float *two[SIDE] = {dy + l, dy + c->width * c->wide + l};

        c->rows->grad_weights(src, c->nx, c->nx, two, SIDE, c->width, c->wide,
                              sums + l * SIDE * c->nx);
        for (size_t a = 0; a < SIDE; a++)
            c->rows->sum(two[a], c->width, c->wide, sums + c->packed + l);
    }
}

static void conv_transpose2d_sum_chunk(const struct conv_transpose2d *c, const struct op *op,
                                       size_t i, float *sums)
{
    memset(sums, 0, c->sums * sizeof *sums);
    for (size_t row = c->nrows * i / c->nchunks; row < c->nrows * (i + 1) / c->nchunks; row++)
        conv_transpose2d_add_weights(c, op->in[1]->data + row * c->width * c->nx,
                                     read_dy(c, op->in[0], row), sums);
}

/* Writes dw and db from the sums. Shares the work of dw among the threads of the parallel
 * region. */
static void conv_transpose2d_finish(const struct conv_transpose2d *c, const float *sums, float *dw,
                                    float *db)
{
    size_t lanes = c->rows->lanes, co = c->wide / SIDE;

#pragma omp for schedule(static)
    for (size_t i = 0; i < c->nx; i++)
        for (size_t l = 0; l < c->wide; l++)
            for (size_t a = 0; a < SIDE; a++)
                dw[((i * co + l % co) * SIDE + a) * SIDE + l / co] =
                    sums[((l / lanes * SIDE + a) * c->nx + i) * lanes + l % lanes];
#pragma omp single
    for (size_t k = 0; k < co; k++)
        db[k] = sums[c->packed + k] + sums[c->packed + co + k];
}

static int conv_transpose2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct conv_transpose2d *c = op->priv;
    float *sums = op->workspace;

#pragma omp parallel num_threads(c->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            conv_transpose2d_sum_chunk(c, op, i, sums + i * c->sums);
        conv_rows_add(sums, c->sums, c->nchunks);
        conv_transpose2d_finish(c, sums, op->out[0]->data, op->out[1]->data);
    }
    return 0;
}

const struct kernel simd_conv_transpose2d_grad_weights = {
    .kind = &conv_transpose2d_grad_weights_kind, .supports = conv_transpose2d_supports,
    .prepare = conv_transpose2d_prepare, .run = conv_transpose2d_run, .release = simd_release};

/* 1x1 convolutions to one channel, such as the last one of a network with one logit for each pixel:
 * a dot product for each pixel, which is bound by memory. direct_conv.c would fill the lanes of its
 * vectors with pixels and multiply mostly by zeros. */

#define BLOCK 1024 /* pixels of a task */
#define LANES 8
#ifdef __x86_64__
#define ISA __attribute__((target("avx2,fma")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/vec_isa.inc"

/* Returns the sums of eight vectors, each in a lane of its own. */
INLINE vec sum_each(vec *v)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        v[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(v[2 * i], v[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(v[0], v[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

/* y[pixel] = bias + sum over c of x[pixel][c] w[c] */
ISA static void dot_pixels(const float *x, size_t npixels, const float *w, size_t nchannels,
                           float bias, float *y)
{
    size_t p = 0;

    for (; p + LANES <= npixels; p += LANES) {
        vec v[LANES] = {0};

        for (size_t c = 0; c < nchannels; c += LANES)
#pragma GCC unroll 8
            for (size_t i = 0; i < LANES; i++)
                v[i] += load(x + (p + i) * nchannels + c) * load(w + c);
        store(y + p, sum_each(v) + bias);
    }
    for (; p < npixels; p++) {
        y[p] = bias;
        for (size_t c = 0; c < nchannels; c++)
            y[p] += x[p * nchannels + c] * w[c];
    }
}

static bool dot_conv_supports(const struct op *op)
{
    return simd_isa() >= SIMD_AVX2 && op->attr.kernel == 1 && op->attr.stride <= 1 &&
           tensor_channels(op->out[0]) == 1 && tensor_channels(op->in[0]) % LANES == 0;
}

static int dot_conv_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    size_t npixels = tensor_pixels(src), n = tensor_channels(src);
    float bias = op->in[2] ? op->in[2]->data[0] : 0;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < npixels; i += BLOCK)
        dot_pixels(src->data + i * n, simd_min(npixels - i, BLOCK), op->in[1]->data, n, bias,
                   op->out[0]->data + i);
    return 0;
}

const struct kernel simd_dot_conv2d = {
    .kind = &conv2d_kind, .supports = dot_conv_supports, .run = dot_conv_run};
