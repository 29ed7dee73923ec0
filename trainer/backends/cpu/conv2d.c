/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of the weights of 3x3 convolutions with few channels (at most 64) and of transposed 2x2
 * convolutions, and 1x1 convolutions to one channel. */
#include "config.h"
#include "trainer/backends/cpu/simd.h"

#include <string.h>

#include "trainer/backends/cpu/conv_rows.h"

#define CONV2D_KERNEL CONV_ROWS

/* op->priv: one convolution in the terms of conv_rows.h, which defines nk, ngroups and dst_step. */
struct conv2d {
    const struct conv_rows *rows;
    size_t n, h, w, src_channels, dst_channels;
    size_t group;            /* pixels whose results share a vector */
    size_t nblocks;          /* vectors of channels */
    size_t nk, ngroups, dst_step;
    size_t width;            /* floats of a row of the source with its border */
    size_t nthreads, nchunks;
    /* Floats of the sums of the weights; of these and the bias, of one chunk; of a row of dst. */
    size_t packed, sums, zeros;
};

#define MAX_CHANNELS 64

bool conv2d_is_narrow(const struct op *op, const struct tensor *src, const struct tensor *dst)
{
    const struct conv_rows *rows = conv_rows_best();
    size_t ns = tensor_channels(src), nd = tensor_channels(dst);

    if (!rows || op->attr.kernel != CONV2D_KERNEL || op->attr.stride > 1 ||
        op_dilation(op) > 1 || ns > MAX_CHANNELS || nd > MAX_CHANNELS)
        return false;
    if (nd >= rows->lanes)
        return nd % rows->lanes == 0;
    return rows->lanes % nd == 0 && nd * 4 >= rows->lanes &&
           (size_t)src->shape.dim[DIM_W] % (rows->lanes / nd) == 0;
}

static struct conv2d conv2d_of(const struct tensor *src, const struct tensor *dst)
{
    size_t lanes, ns = tensor_channels(src), nd = tensor_channels(dst);
    struct conv2d plan = {.rows = conv_rows_best(), .n = (size_t)src->shape.dim[DIM_N],
                          .h = (size_t)src->shape.dim[DIM_H], .w = (size_t)src->shape.dim[DIM_W],
                          .src_channels = ns, .dst_channels = nd}, *c = &plan;

    lanes = c->rows->lanes;
    c->group = nd < lanes ? lanes / nd : 1;
    c->nblocks = c->group > 1 ? 1 : nd / lanes;
    c->nk = (CONV2D_KERNEL + c->group - 1) * ns;
    c->ngroups = c->w / c->group;
    c->dst_step = c->group * nd;
    c->width = simd_round_up((c->w + CONV2D_KERNEL - 1) * ns, lanes);
    c->nthreads = simd_threads();
    c->nchunks = conv_rows_chunks(c->n * c->h * c->w);
    c->packed = c->nblocks * CONV2D_KERNEL * c->nk * lanes;
    c->sums = c->packed + c->nblocks * lanes;
    c->zeros = simd_round_up(c->w * nd, lanes);
    return plan;
}

/* Copies row y, counted over all images, with a border of zeros. */
static void conv2d_copy_row(const struct conv2d *c, const struct tensor *src, size_t y, float *row)
{
    size_t ci = c->src_channels, n = c->w * ci;

    memset(row, 0, ci * sizeof *row);
    memcpy(row + ci, src->data + y * n, n * sizeof *row);
    memset(row + ci + n, 0, (c->width - ci - n) * sizeof *row);
}

/* Returns the index of the sum of tap (i, j), source channel s and result channel d, for
 * pixel p of a group. */
static size_t conv2d_packed_at(const struct conv2d *c, size_t i, size_t j, size_t s, size_t d,
                               size_t p)
{
    size_t lanes = c->rows->lanes, k = (j + p) * c->src_channels + s;

    return ((d / lanes * CONV2D_KERNEL + i) * c->nk + k) * lanes + p * c->dst_channels + d % lanes;
}

/* The gradient of the weights of 3x3 convolutions with few channels. A chunk of rows has its own
 * sums; the number of chunks does not depend on the number of threads, and their sums are added in
 * order. */

/* Returns row r of dst, counted over all images, or zeros if the row is not inside the image. */
static const float *dst_row(const struct conv2d *c, const struct tensor *dst, size_t r, bool inside,
                            const float *zeros)
{
    return inside ? dst->data + r * c->w * c->dst_channels : zeros;
}

/* Sets sums[c->sums] from rows [from, to), counted over all images: the sums of products of these
 * rows of src with the rows of dst whose windows contain them, and behind those the plain sums of
 * these rows of dst for the bias. zeros: as many as a row of dst has values. */
static void conv2d_weights_sum_rows(const struct conv2d *c, const struct tensor *src,
                                    const struct tensor *dst, size_t from, size_t to, float *row,
                                    const float *zeros, float *sums)
{
    size_t lanes = c->rows->lanes;

    memset(sums, 0, c->sums * sizeof *sums);
    for (size_t r = from; r < to; r++) {
        size_t y = r % c->h;
        const float *d = dst_row(c, dst, r, true, zeros);
        const float *below = dst_row(c, dst, r + 1, y + 1 < c->h, zeros);
        const float *above = dst_row(c, dst, r - 1, y > 0, zeros);

        conv2d_copy_row(c, src, r, row);
        for (size_t b = 0; b < c->nblocks; b++) {
            size_t l = b * lanes;
            const float *rows[CONV2D_KERNEL] = {below + (below == zeros ? 0 : l), d + l,
                                         above + (above == zeros ? 0 : l)};

            c->rows->grad_weights(row, c->group * c->src_channels, c->nk, rows, CONV2D_KERNEL,
                                  c->ngroups, c->dst_step, sums + l * CONV2D_KERNEL * c->nk);
            c->rows->sum(d + l, c->ngroups, c->dst_step, sums + c->packed + l);
        }
    }
}

static void finish_weights(const struct conv2d *c, const float *sums, size_t s, size_t d, float *dw)
{
    for (size_t k = 0; k < (size_t)CONV2D_KERNEL * CONV2D_KERNEL; k++) {
        dw[k] = 0;
        for (size_t p = 0; p < c->group; p++)
            dw[k] += sums[conv2d_packed_at(c, k / CONV2D_KERNEL, k % CONV2D_KERNEL, s, d, p)];
    }
}

static void finish_bias(const struct conv2d *c, const float *sums, float *db)
{
    for (size_t d = 0; d < c->dst_channels; d++) {
        db[d] = 0;
        for (size_t p = 0; p < c->group; p++)
            db[d] += sums[c->packed + p * c->dst_channels + d];
    }
}

/* Workspace: the sums of all chunks, a row of zeros, a row of each thread. */
static int conv2d_weights_run(struct op *op, struct exec *x, struct err *e)
{
    const struct conv2d *c = op->priv;
    float *sums = op->workspace, *zeros = sums + c->nchunks * c->sums, *rooms = zeros + c->zeros;
    float *dw = op->out[0]->data;
    size_t nrows = c->n * c->h, ns = c->src_channels, nd = c->dst_channels;

    memset(zeros, 0, c->zeros * sizeof *zeros);
#pragma omp parallel num_threads(c->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            conv2d_weights_sum_rows(c, op->in[1], op->in[0], nrows * i / c->nchunks,
                                    nrows * (i + 1) / c->nchunks, rooms + simd_thread() * c->width,
                                    zeros, sums + i * c->sums);
        conv_rows_add(sums, c->sums, c->nchunks);
#pragma omp for schedule(static)
        for (size_t i = 0; i < nd * ns; i++)
            finish_weights(c, sums, i % ns, i / ns, dw + i * CONV2D_KERNEL * CONV2D_KERNEL);
    }
    if (op->out[1])
        finish_bias(c, sums, op->out[1]->data);
    return 0;
}

static bool conv2d_weights_supports(const struct op *op)
{
    return conv2d_is_narrow(op, op->in[1], op->in[0]);
}

static int conv2d_weights_prepare(struct op *op, struct err *e)
{
    struct conv2d c = conv2d_of(op->in[1], op->in[0]);

    op->workspace_size = (c.nchunks * c.sums + c.zeros + c.nthreads * c.width) * sizeof(float);
    return simd_keep(op, &c, sizeof c, e);
}

const struct kernel simd_conv2d_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = conv2d_weights_supports,
    .prepare = conv2d_weights_prepare, .run = conv2d_weights_run, .release = simd_release};

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
