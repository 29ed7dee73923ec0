/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposed 2x2 convolutions of stride 2 as products of small matrices, one row at a time
 * (conv_rows.h).
 *
 * The two pixels that a pixel of x becomes in one row of y are neighbours in memory: [2][co], if y
 * has co channels. So a row of y is the product of a row x[pixel][channel] and that row's weights;
 * a row of the gradient of x is the sum of two such products with rows of dy; the gradient of the
 * weights is summed in chunks of rows, whose number does not depend on the number of threads. */
#include "config.h"
#include "trainer/backends/cpu/conv_rows.h"

#include <string.h>

#include "trainer/backends/cpu/simd.h"

#define SIDE 2           /* the window's side and the stride */
#define MAX_WEIGHTS 32768 /* channels of x times channels of y: what fits into a core's cache */

/* op->priv */
struct conv_transpose2d {
    const struct conv_rows *rows;
    size_t nrows, width;  /* rows of x over all images; pixels of a row */
    size_t nx, wide;      /* channels of x; values of two pixels of y */
    size_t nvectors, nblocks; /* vectors of results computed at once; how many times */
    size_t nthreads, nchunks;
    size_t packed, bias, sums; /* floats of the packed weights, the bias, the sums of one chunk */
};

/* The tensor of half the size and the other one, of a transposed convolution or a gradient. */
static const struct tensor *conv_transpose2d_x(const struct op *op)
{
    return op->kind == &conv_transpose2d_kind              ? op->in[0]
           : op->kind == &conv_transpose2d_grad_input_kind ? op->out[0]
                                                           : op->in[1];
}

static const struct tensor *conv_transpose2d_y(const struct op *op)
{
    return op->kind == &conv_transpose2d_kind ? op->out[0] : op->in[0];
}

static bool conv_transpose2d_supports(const struct op *op)
{
    const struct conv_rows *rows = conv_rows_best();
    size_t ci = tensor_channels(conv_transpose2d_x(op));
    size_t co = tensor_channels(conv_transpose2d_y(op));

    return rows && ci * co <= MAX_WEIGHTS &&
           ci % rows->lanes == 0 && SIDE * co % rows->lanes == 0;
}

/* nresults: the values of a row of results for each pixel of x. */
static void cut_vectors(struct conv_transpose2d *c, size_t nresults)
{
    size_t lanes = c->rows->lanes;

    c->nvectors = nresults % (2 * lanes) == 0 ? 2 : 1;
    c->nblocks = nresults / (c->nvectors * lanes);
    c->bias = nresults;
}

static struct conv_transpose2d conv_transpose2d_of(const struct op *op)
{
    const struct tensor *x = conv_transpose2d_x(op);
    struct conv_transpose2d plan = {0}, *c = &plan;

    c->rows = conv_rows_best();
    c->nrows = (size_t)(x->shape.dim[DIM_N] * x->shape.dim[DIM_H]);
    c->width = (size_t)x->shape.dim[DIM_W];
    c->nx = tensor_channels(x);
    c->wide = SIDE * tensor_channels(conv_transpose2d_y(op));
    c->nthreads = simd_threads();
    c->packed = SIDE * c->nx * c->wide;
    if (op->kind == &conv_transpose2d_grad_weights_kind) {
        c->nchunks = conv_rows_chunks(c->nrows * c->width);
        c->sums = c->packed + c->wide;
    } else {
        cut_vectors(c, op->kind == &conv_transpose2d_kind ? c->wide : c->nx);
    }
    return plan;
}

/* Returns the weight of channel i of x and value l of a pixel pair in row a of y, from
 * w[I][O][2][2]. */
static float conv_transpose2d_weight_at(const struct conv_transpose2d *c, const float *w, size_t i,
                                        size_t l, size_t a)
{
    size_t co = c->wide / SIDE;

    return w[((i * co + l % co) * SIDE + a) * SIDE + l / co];
}

/* Packs to [a][block of l][i][l]: each row of y is a product of its own. This and the next function
 * share the work among the threads of the parallel region. */
static void pack_forward(const struct conv_transpose2d *c, const float *w, float *packed)
{
    size_t n = c->nvectors * c->rows->lanes;

#pragma omp for schedule(static)
    for (size_t k = 0; k < SIDE * c->nblocks * c->nx; k++)
        for (size_t l = 0; l < n; l++)
            packed[k * n + l] =
                conv_transpose2d_weight_at(c, w, k % c->nx, k / c->nx % c->nblocks * n + l,
                                           k / c->nx / c->nblocks);
}

/* Packs to [block of i][a][l][i]. */
static void pack_grad_input(const struct conv_transpose2d *c, const float *w, float *packed)
{
    size_t n = c->nvectors * c->rows->lanes;

#pragma omp for schedule(static)
    for (size_t k = 0; k < c->nblocks * SIDE * c->wide; k++)
        for (size_t i = 0; i < n; i++)
            packed[k * n + i] = conv_transpose2d_weight_at(c, w, k / c->wide / SIDE * n + i,
                                                           k % c->wide, k / c->wide % SIDE);
}

static void conv_transpose2d_pack_bias(const struct conv_transpose2d *c, const float *b,
                                       float *bias)
{
    for (size_t l = 0; l < c->wide; l++)
        bias[l] = b[l % (c->wide / SIDE)];
}

/* Computes row a of the two rows of y that a row of x becomes. */
static void write_row(const struct conv_transpose2d *c, const float *x, const float *packed,
                      const float *bias, size_t a, float *to)
{
    size_t n = c->nvectors * c->rows->lanes;

    packed += a * c->nx * c->wide;
    for (size_t b = 0; b < c->nblocks; b++, packed += c->nx * n)
        c->rows->forward(&x, 1, c->nx, c->nx, packed, bias + b * n, c->width, c->wide, c->nvectors,
                         to + b * n);
}

/* The pointers into the workspace during one run. packed and bias are the operands of the product
 * that gives y or dx. Each chunk has sums for the gradients of the weights and the bias. */
struct conv_transpose2d_workspace {
    float *packed, *bias, *sums;
};

static struct conv_transpose2d_workspace
conv_transpose2d_workspace_of(const struct conv_transpose2d *c, struct simd_workspace *w)
{
    return (struct conv_transpose2d_workspace){
        .packed = simd_take(w, c->nblocks ? c->packed : 0, sizeof(float)),
        .bias = simd_take(w, c->bias, sizeof(float)),
        .sums = simd_take(w, c->nchunks * c->sums, sizeof(float)),
    };
}

static struct conv_transpose2d_workspace conv_transpose2d_workspace_now(const struct op *op)
{
    return conv_transpose2d_workspace_of(op->priv, &(struct simd_workspace){op->workspace, 0});
}

static int conv_transpose2d_run_forward(struct op *op, struct exec *x, struct err *e)
{
    const struct conv_transpose2d *c = op->priv;
    const struct tensor *src = op->in[0], *dst = op->out[0];
    struct conv_transpose2d_workspace p = conv_transpose2d_workspace_now(op);
    size_t two_rows = SIDE * c->width * c->wide;

    conv_transpose2d_pack_bias(c, op->in[2]->data, p.bias);
#pragma omp parallel num_threads(c->nthreads)
    {
        pack_forward(c, op->in[1]->data, p.packed);
#pragma omp for schedule(dynamic)
        for (size_t row = 0; row < c->nrows; row++) {
            const float *one = src->data + row * c->width * c->nx;
            float *to = dst->data + row * two_rows;

            for (size_t a = 0; a < SIDE; a++)
                write_row(c, one, p.packed, p.bias, a, to + a * c->width * c->wide);
        }
    }
    return 0;
}

/* Returns the two rows of dy that belong to a row of x, and prefetches the next two. */
static const float *read_dy(const struct conv_transpose2d *c, const struct tensor *dy, size_t row)
{
    size_t two_rows = SIDE * c->width * c->wide;

    simd_fetch(dy->data + (row + 1) * two_rows, row + 1 < c->nrows ? two_rows : 0);
    return dy->data + row * two_rows;
}

/* Computes a row of dx from two rows of dy. */
static void conv_transpose2d_write_input(const struct conv_transpose2d *c, const float *dy,
                                         const float *packed, const float *bias,
                                         const struct tensor *dx, size_t row)
{
    size_t n = c->nvectors * c->rows->lanes, line = c->width * c->nx;
    const float *two[SIDE] = {dy, dy + c->width * c->wide};
    float *to = dx->data + row * line;

    simd_fetch(to, line);
    for (size_t b = 0; b < c->nblocks; b++)
        c->rows->forward(two, SIDE, c->wide, c->wide, packed + b * SIDE * c->wide * n, bias + b * n,
                         c->width, c->nx, c->nvectors, to + b * n);
}

static int conv_transpose2d_run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    const struct conv_transpose2d *c = op->priv;
    struct conv_transpose2d_workspace p = conv_transpose2d_workspace_now(op);

    memset(p.bias, 0, c->bias * sizeof *p.bias);
#pragma omp parallel num_threads(c->nthreads)
    {
        pack_grad_input(c, op->in[1]->data, p.packed);
#pragma omp for schedule(dynamic)
        for (size_t row = 0; row < c->nrows; row++)
            conv_transpose2d_write_input(c, read_dy(c, op->in[0], row), p.packed, p.bias,
                                         op->out[0], row);
    }
    return 0;
}

/* Adds the products of one row of x with the two rows of dy to sums[block of l][a][i][l], with the
 * letters of conv_transpose2d_weight_at; a block is one vector. Behind these it adds the sums of
 * both rows of dy for each l. */
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

static int conv_transpose2d_run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct conv_transpose2d *c = op->priv;
    struct conv_transpose2d_workspace p = conv_transpose2d_workspace_now(op);

#pragma omp parallel num_threads(c->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            conv_transpose2d_sum_chunk(c, op, i, p.sums + i * c->sums);
        conv_rows_add(p.sums, c->sums, c->nchunks);
        conv_transpose2d_finish(c, p.sums, op->out[0]->data, op->out[1]->data);
    }
    return 0;
}

static int conv_transpose2d_prepare(struct op *op, struct err *e)
{
    const struct conv_transpose2d c = conv_transpose2d_of(op);
    struct simd_workspace w = {0};

    conv_transpose2d_workspace_of(&c, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &c, sizeof c, e);
}

#define KERNEL_OF(_kind, _run) \
    .kind = &_kind, .supports = conv_transpose2d_supports, .prepare = conv_transpose2d_prepare, \
    .run = _run, .release = simd_release

const struct kernel simd_conv_transpose2d = {
    KERNEL_OF(conv_transpose2d_kind, conv_transpose2d_run_forward)};
const struct kernel simd_conv_transpose2d_grad_input = {
    KERNEL_OF(conv_transpose2d_grad_input_kind, conv_transpose2d_run_grad_input)};
const struct kernel simd_conv_transpose2d_grad_weights = {
    KERNEL_OF(conv_transpose2d_grad_weights_kind, conv_transpose2d_run_grad_weights)};
