/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions with few channels (at most 64): forward, alone or with a ReLU, and the gradient
 * of the input, which is the convolution with the window rotated by 180 degrees and the input and
 * output channels exchanged. */
#include "config.h"
#include "trainer/backends/cpu/simd.h"

#include <string.h>

#include "trainer/backends/cpu/conv_rows.h"

/* 3x3 convolutions with few channels, a band of rows at a time. conv_rows.h has the arithmetic;
 * this file handles borders, the order of the weights, and threads. */

#define CONV2D_KERNEL CONV_ROWS

/* op->priv: one convolution in the terms of conv_rows.h, which defines nk, ngroups and dst_step;
 * for the gradient of the input the source is dy. */
struct conv2d {
    const struct conv_rows *rows;
    size_t n, h, w, src_channels, dst_channels;
    size_t group;            /* pixels whose results share a vector */
    size_t nvectors, nblocks; /* vectors of channels computed at once; how many times */
    size_t nk, ngroups, dst_step;
    size_t width;            /* floats of a row of the source with its border */
    size_t nthreads, nchunks;
    /* Floats of the packed weights, the bias, the sums of one chunk, a row of results. */
    size_t packed, bias, sums, zeros;
    size_t room; /* floats of one thread's rows of the source */
    bool relu;   /* a ReLU is applied to the results */
};

#define BAND 16      /* rows of results of a task */
#define MAX_CHANNELS 64

static bool conv2d_supports(const struct op *op, const struct tensor *src, const struct tensor *dst)
{
    const struct conv_rows *rows = conv_rows_best();
    size_t ns = tensor_channels(src), nd = tensor_channels(dst);

    /* Convolutions with more channels are left to conv/winograd/. */
    if (!rows || op->attr.kernel != CONV2D_KERNEL || op->attr.stride > 1 ||
        op_dilation(op) > 1 || ns > MAX_CHANNELS || nd > MAX_CHANNELS)
        return false;
    if (nd >= rows->lanes)
        return nd % rows->lanes == 0;
    return rows->lanes % nd == 0 && nd * 4 >= rows->lanes &&
           (size_t)src->shape.dim[DIM_W] % (rows->lanes / nd) == 0;
}

/* Returns the plan of a convolution. wide: it computes two vectors of channels at once if the
 * number of vectors is even. */
static struct conv2d conv2d_of(const struct tensor *src, const struct tensor *dst, bool wide)
{
    size_t lanes, ns = tensor_channels(src), nd = tensor_channels(dst);
    struct conv2d plan = {.rows = conv_rows_best(), .n = (size_t)src->shape.dim[DIM_N],
                          .h = (size_t)src->shape.dim[DIM_H], .w = (size_t)src->shape.dim[DIM_W],
                          .src_channels = ns, .dst_channels = nd}, *c = &plan;

    lanes = c->rows->lanes;
    c->group = nd < lanes ? lanes / nd : 1;
    c->nvectors = wide && nd % (2 * lanes) == 0 ? 2 : 1;
    c->nblocks = c->group > 1 ? 1 : nd / (c->nvectors * lanes);
    c->nk = (CONV2D_KERNEL + c->group - 1) * ns;
    c->ngroups = c->w / c->group;
    c->dst_step = c->group * nd;
    c->width = simd_round_up((c->w + CONV2D_KERNEL - 1) * ns, lanes);
    c->nthreads = simd_threads();
    c->nchunks = conv_rows_chunks(c->n * c->h * c->w);
    c->packed = c->nblocks * CONV2D_KERNEL * c->nk * c->nvectors * lanes;
    c->bias = c->nblocks * c->nvectors * lanes;
    c->sums = c->packed + c->bias;
    c->zeros = simd_round_up(c->w * nd, lanes);
    c->room = CONV2D_KERNEL * c->width;
    return plan;
}

/* The last rows of the source that a thread has read, with a border of zeros. */
struct ring {
    float *rows; /* [CONV2D_KERNEL][width]: row y is at index (y + 1) % CONV2D_KERNEL */
    const struct conv2d *conv;
};

/* Copies row y, counted over all images, with a border of zeros. */
static void conv2d_copy_row(const struct conv2d *c, const struct tensor *src, size_t y, float *row)
{
    size_t ci = c->src_channels, n = c->w * ci;

    memset(row, 0, ci * sizeof *row);
    memcpy(row + ci, src->data + y * n, n * sizeof *row);
    memset(row + ci + n, 0, (c->width - ci - n) * sizeof *row);
}

/* Reads row y1 - 1 of an image of the source into the ring; zeros if the image does not have it. */
static void fill_row(const struct ring *r, const struct tensor *src, size_t image, size_t y1)
{
    const struct conv2d *c = r->conv;
    float *row = r->rows + y1 % CONV2D_KERNEL * c->width;

    if (y1 == 0 || y1 > c->h)
        memset(row, 0, c->width * sizeof *row);
    else
        conv2d_copy_row(c, src, image * c->h + y1 - 1, row);
}

/* Returns the index of the packed weight of tap (i, j), source channel s and result channel d, for
 * pixel p of a group. */
static size_t conv2d_packed_at(const struct conv2d *c, size_t i, size_t j, size_t s, size_t d,
                               size_t p)
{
    size_t wide = c->nvectors * c->rows->lanes, k = (j + p) * c->src_channels + s;

    return ((d / wide * CONV2D_KERNEL + i) * c->nk + k) * wide + p * c->dst_channels + d % wide;
}

/* Packs w[O][I][3][3] into the order of conv_rows.h; turned: for the gradient of the input. */
static void conv2d_pack(const struct conv2d *c, const float *w, bool turned, float *packed)
{
    size_t nd = c->dst_channels, ns = c->src_channels;

    memset(packed, 0, c->packed * sizeof *packed);
    for (size_t d = 0; d < nd; d++)
        for (size_t s = 0; s < ns; s++) {
            const float *tap = w +
                               (turned ? s * nd + d : d * ns + s) * CONV2D_KERNEL * CONV2D_KERNEL;

            for (size_t k = 0; k < (size_t)CONV2D_KERNEL * CONV2D_KERNEL; k++)
                for (size_t p = 0; p < c->group; p++)
                    packed[conv2d_packed_at(c, k / CONV2D_KERNEL, k % CONV2D_KERNEL, s, d, p)] =
                        tap[turned ? CONV2D_KERNEL * CONV2D_KERNEL - 1 - k : k];
        }
}

static void conv2d_pack_bias(const struct conv2d *c, const float *bias, float *packed)
{
    for (size_t i = 0; i < c->bias; i++)
        packed[i] = bias ? bias[i % c->dst_channels] : 0;
}

VECTOR_CLONES static void make_at_least_0(float *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

/* Computes row y of an image's results. The ring has rows y - 1 and y of the source already. */
static void correlate_row(const struct ring *r, const struct tensor *src, size_t image, size_t y,
                          const float *packed, const float *bias, float *dst)
{
    const struct conv2d *c = r->conv;
    size_t wide = c->nvectors * c->rows->lanes;
    const float *rows[CONV2D_KERNEL]; /* from top to bottom */

    fill_row(r, src, image, y + 2);
    for (size_t i = 0; i < CONV2D_KERNEL; i++)
        rows[i] = r->rows + (y + i) % CONV2D_KERNEL * c->width;
    for (size_t b = 0; b < c->nblocks; b++)
        c->rows->forward(rows, CONV2D_KERNEL, c->group * c->src_channels, c->nk,
                         packed + b * CONV2D_KERNEL * c->nk * wide, bias + b * wide, c->ngroups,
                         c->dst_step, c->nvectors, dst + b * wide);
    if (c->relu)
        make_at_least_0(dst, c->w * c->dst_channels);
}

static void correlate_band(const struct conv2d *c, const struct tensor *src, const float *packed,
                           const float *bias, size_t image, size_t from, size_t to, float *kept,
                           const struct tensor *dst)
{
    struct ring ring = {kept, c};
    size_t row = c->w * c->dst_channels;

    fill_row(&ring, src, image, from);
    fill_row(&ring, src, image, from + 1);
    for (size_t y = from; y < to; y++)
        correlate_row(&ring, src, image, y, packed, bias, dst->data + (image * c->h + y) * row);
}

/* The pointers into the workspace during one run. */
struct conv2d_workspace {
    float *packed, *bias, *rooms;
};

static struct conv2d_workspace conv2d_workspace_of(const struct conv2d *c, struct simd_workspace *w)
{
    return (struct conv2d_workspace){
        .packed = simd_take(w, c->packed, sizeof(float)),
        .bias = simd_take(w, c->bias, sizeof(float)),
        .rooms = simd_take(w, c->nthreads * c->room, sizeof(float)),
    };
}

static int conv2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct conv2d *c = op->priv;
    struct conv2d_workspace p =
        conv2d_workspace_of(c, &(struct simd_workspace){op->workspace, 0});
    size_t nbands = (c->h + BAND - 1) / BAND;

    conv2d_pack(c, op->in[1]->data, op->kind == &conv2d_grad_input_kind, p.packed);
    conv2d_pack_bias(c, op->in[2] ? op->in[2]->data : NULL, p.bias);
#pragma omp parallel for schedule(dynamic) num_threads(c->nthreads)
    for (size_t i = 0; i < c->n * nbands; i++) {
        size_t from = i % nbands * BAND, to = from + BAND < c->h ? from + BAND : c->h;

        correlate_band(c, op->in[0], p.packed, p.bias, i / nbands, from, to,
                       p.rooms + simd_thread() * c->room, op->out[0]);
    }
    return 0;
}

static bool conv2d_kernel_supports(const struct op *op)
{
    return conv2d_supports(op, op->in[0], op->out[0]);
}

static int conv2d_prepare(struct op *op, struct err *e)
{
    struct conv2d c = conv2d_of(op->in[0], op->out[0], true);
    struct simd_workspace w = {0};

    c.relu = op->kind == &conv2d_relu_kind;
    conv2d_workspace_of(&c, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &c, sizeof c, e);
}

#define KERNEL_OF(_kind) \
    .kind = &_kind, .supports = conv2d_kernel_supports, .prepare = conv2d_prepare, \
    .run = conv2d_run, .release = simd_release

const struct kernel simd_conv2d = {KERNEL_OF(conv2d_kind)};
const struct kernel simd_conv2d_relu = {KERNEL_OF(conv2d_relu_kind)};
const struct kernel simd_conv2d_grad_input = {KERNEL_OF(conv2d_grad_input_kind)};

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
                                    nrows * (i + 1) / c->nchunks, rooms + simd_thread() * c->room,
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
    return conv2d_supports(op, op->in[1], op->in[0]);
}

static int conv2d_weights_prepare(struct op *op, struct err *e)
{
    struct conv2d c = conv2d_of(op->in[1], op->in[0], false);

    op->workspace_size = (c.nchunks * c.sums + c.zeros + c.nthreads * c.room) * sizeof(float);
    return simd_keep(op, &c, sizeof c, e);
}

const struct kernel simd_conv2d_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = conv2d_weights_supports,
    .prepare = conv2d_weights_prepare, .run = conv2d_weights_run, .release = simd_release};

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
