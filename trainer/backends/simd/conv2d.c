/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions with few channels, a band of rows at a time: conv_rows.h has the arithmetic,
 * here are the borders, the order of the weights, and the threads.
 *
 * The gradient of the input is the same convolution with the window turned by 180 degrees and the
 * roles of the channels changed. The gradient of the weights is summed in chunks of rows whose
 * number does not depend on the threads, and these are added in order. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/conv_rows.h"
#include "trainer/backends/simd/float_rows.h"

#define KERNEL CONV_ROWS
#define KEPT (KERNEL + 1) /* rows of the source with a border that a thread keeps */
#define BAND 16      /* rows of a result that one thread computes at a time */
#define MAX_CHANNELS 64

/* One problem in the terms of conv_rows.h; for the gradient of the input, src is dy. */
struct shape_of {
    size_t n, h, w;
    size_t src_channels, dst_channels;
};

/* op->priv */
struct conv {
    const struct conv_rows *rows;
    struct shape_of s;
    size_t group;            /* pixels of a vector */
    size_t nvectors, nblocks; /* vectors of channels computed at once; how often */
    size_t nk, ngroups, dst_step;
    size_t width;            /* floats of a row of the source with its border */
    size_t nthreads, nchunks;
    /* Floats of the packed weights, the bias, the sums of one chunk, a row of results. */
    size_t packed, bias, sums, zeros;
    size_t room; /* floats of a thread's rows: of the source, and copies of dst's */
    float_rows_narrow_f *narrow;
};

static struct shape_of shape_of(const struct tensor *src, const struct tensor *dst)
{
    return (struct shape_of){(size_t)src->shape.dim[DIM_N], (size_t)src->shape.dim[DIM_H],
                             (size_t)src->shape.dim[DIM_W], tensor_channels(src),
                             tensor_channels(dst)};
}

/* Is it worth it: wide convolutions are a library's field. */
static bool is_narrow(const struct shape_of *s)
{
    return s->src_channels <= MAX_CHANNELS && s->dst_channels <= MAX_CHANNELS;
}

static bool can_do(const struct op *op, const struct shape_of *s)
{
    const struct conv_rows *rows = conv_rows_best();

    if (!rows || !float_rows_support(op) || op->attr.kernel != KERNEL || op->attr.stride > 1 ||
        !is_narrow(s))
        return false;
    if (s->dst_channels >= rows->lanes)
        return s->dst_channels % rows->lanes == 0;
    return rows->lanes % s->dst_channels == 0 && s->dst_channels * 4 >= rows->lanes &&
           s->w % (rows->lanes / s->dst_channels) == 0;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* wide: two vectors of channels at once where there are as many. */
static struct conv *create(const struct shape_of *s, bool wide)
{
    struct conv *c = calloc(1, sizeof *c);
    size_t lanes;

    if (!c)
        return NULL;
    c->rows = conv_rows_best();
    c->s = *s;
    lanes = c->rows->lanes;
    c->group = s->dst_channels < lanes ? lanes / s->dst_channels : 1;
    c->nvectors = wide && s->dst_channels % (2 * lanes) == 0 ? 2 : 1;
    c->nblocks = c->group > 1 ? 1 : s->dst_channels / (c->nvectors * lanes);
    c->nk = (KERNEL + c->group - 1) * s->src_channels;
    c->ngroups = s->w / c->group;
    c->dst_step = c->group * s->dst_channels;
    c->width = round_up((s->w + KERNEL - 1) * s->src_channels, lanes);
    c->nthreads = simd_threads();
    c->nchunks = conv_rows_chunks(s->n * s->h * s->w);
    c->packed = c->nblocks * KERNEL * c->nk * c->nvectors * lanes;
    c->bias = c->nblocks * c->nvectors * lanes;
    c->sums = c->packed + c->bias;
    c->zeros = round_up(s->w * s->dst_channels, lanes);
    c->room = KEPT * c->width + KERNEL * c->zeros;
    c->narrow = float_rows_narrow();
    return c;
}

/* Rows of the source with a border of zeros. */
struct ring {
    float *rows; /* KEPT of them; row y is in place (y + 1) % KEPT */
    const struct conv *conv;
};

/* y: counted through all images */
static void copy_row(const struct conv *c, const struct tensor *src, size_t y, float *row)
{
    size_t ci = c->s.src_channels, n = c->s.w * ci;

    memset(row, 0, ci * sizeof *row);
    if (src->dtype == DTYPE_F32)
        memcpy(row + ci, src->data + y * n, n * sizeof *row);
    else
        dtype_decode(src->dtype, src->half + y * n, row + ci, n);
    memset(row + ci + n, 0, (c->width - ci - n) * sizeof *row);
}

/* y1 = y + 1 */
static void fill_row(const struct ring *r, const struct tensor *src, size_t image, size_t y1)
{
    const struct conv *c = r->conv;
    float *row = r->rows + y1 % KEPT * c->width;

    if (y1 == 0 || y1 > c->s.h)
        memset(row, 0, c->width * sizeof *row);
    else
        copy_row(c, src, image * c->s.h + y1 - 1, row);
}

/* The rows from the one above y on, from top to bottom. */
static void window(const struct ring *r, size_t y, const float *rows[KEPT])
{
    for (size_t i = 0; i < KEPT; i++)
        rows[i] = r->rows + (y + i) % KEPT * r->conv->width;
}

/* Where a weight goes: of tap (i, j), source channel s and result channel d, for pixel p of a
 * group. */
static size_t packed_at(const struct conv *c, size_t i, size_t j, size_t s, size_t d, size_t p)
{
    size_t wide = c->nvectors * c->rows->lanes, k = (j + p) * c->s.src_channels + s;

    return ((d / wide * KERNEL + i) * c->nk + k) * wide + p * c->s.dst_channels + d % wide;
}

/* w[O][I][3][3] into the order of conv_rows.h; turned: for the gradient of the input. */
static void pack(const struct conv *c, const float *w, bool turned, float *packed)
{
    size_t nd = c->s.dst_channels, ns = c->s.src_channels;

    memset(packed, 0, c->packed * sizeof *packed);
    for (size_t d = 0; d < nd; d++)
        for (size_t s = 0; s < ns; s++) {
            const float *tap = w + (turned ? s * nd + d : d * ns + s) * KERNEL * KERNEL;

            for (size_t k = 0; k < (size_t)KERNEL * KERNEL; k++)
                for (size_t p = 0; p < c->group; p++)
                    packed[packed_at(c, k / KERNEL, k % KERNEL, s, d, p)] =
                        tap[turned ? KERNEL * KERNEL - 1 - k : k];
        }
}

static void pack_bias(const struct conv *c, const float *bias, float *packed)
{
    for (size_t i = 0; i < c->bias; i++)
        packed[i] = bias ? bias[i % c->s.dst_channels] : 0;
}

/* Row y and, where it pays, the one below it: how many. */
static size_t correlate_rows(const struct conv *c, const float *const rows[KEPT],
                             const float *packed, const float *bias, bool two, float *dst)
{
    size_t wide = c->nvectors * c->rows->lanes, row = c->s.w * c->s.dst_channels;
    size_t step = c->group * c->s.src_channels;

    for (size_t b = 0; b < c->nblocks; b++, packed += KERNEL * c->nk * wide, bias += wide) {
        float *both[2] = {dst + b * wide, dst + row + b * wide};

        if (two)
            c->rows->forward_two(rows, step, c->nk, packed, bias, c->ngroups, c->dst_step, both);
        else
            c->rows->forward(rows, KERNEL, step, c->nk, packed, bias, c->ngroups, c->dst_step,
                             c->nvectors, both[0]);
    }
    return two ? 2 : 1;
}

static void correlate_band(const struct conv *c, const struct tensor *src, const float *packed,
                           const float *bias, size_t image, size_t from, size_t to, float *kept,
                           const struct tensor *dst)
{
    struct ring ring = {kept, c};
    float *copy = kept + KEPT * c->width;
    size_t row = c->s.w * c->s.dst_channels;
    const float *rows[KEPT];

    fill_row(&ring, src, image, from);
    fill_row(&ring, src, image, from + 1);
    for (size_t y = from; y < to;) {
        bool two = c->nvectors == 1 && y + 1 < to;
        size_t at = (image * c->s.h + y) * row;

        fill_row(&ring, src, image, y + 2);
        if (two)
            fill_row(&ring, src, image, y + 3);
        window(&ring, y, rows);
        y += correlate_rows(c, rows, packed, bias, two, float_rows_begin(dst, at, copy));
        float_rows_done(dst, at, two ? 2 * row : row, copy, c->narrow);
    }
}

/* Workspace: packed weights, bias, rows for each thread. */
static void correlate(const struct op *op)
{
    const struct conv *c = op->priv;
    float *packed = op->workspace, *bias = packed + c->packed, *rooms = bias + c->bias;
    size_t nbands = (c->s.h + BAND - 1) / BAND;

#pragma omp parallel for schedule(dynamic) num_threads(c->nthreads)
    for (size_t i = 0; i < c->s.n * nbands; i++) {
        size_t from = i % nbands * BAND, to = from + BAND < c->s.h ? from + BAND : c->s.h;

        correlate_band(c, op->in[0], packed, bias, i / nbands, from, to,
                       rooms + simd_thread() * c->room, op->out[0]);
    }
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    const struct conv *c = op->priv;
    float *packed = op->workspace;

    (void)x;
    (void)e;
    pack(c, op->in[1]->data, false, packed);
    pack_bias(c, op->kind->nin > 2 ? op->in[2]->data : NULL, packed + c->packed);
    correlate(op);
    return 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    const struct conv *c = op->priv;
    float *packed = op->workspace;

    (void)x;
    (void)e;
    pack(c, op->in[1]->data, true, packed);
    pack_bias(c, NULL, packed + c->packed);
    correlate(op);
    return 0;
}

/* Row r of dst, counted through all images, or its copy; zeros where that is outside the image. */
static const float *dst_row(const struct conv *c, const struct tensor *dst, size_t r, bool inside,
                            float *copies, const float *zeros)
{
    size_t width = c->s.w * c->s.dst_channels;

    return !inside ? zeros : dst->dtype == DTYPE_F32 ? dst->data + r * width
                                                     : copies + r % KERNEL * c->zeros;
}

/* Copies of row r and its neighbours. From the row before there are two of them already. */
static void copy_dst(const struct conv *c, const struct tensor *dst, size_t r, bool first,
                     float *copies)
{
    size_t width = c->s.w * c->s.dst_channels, y = r % c->s.h;

    if (dst->dtype == DTYPE_F32)
        return;
    for (size_t i = first && y > 0 ? r - 1 : first || y == 0 ? r : r + 1;
         i <= (y + 1 < c->s.h ? r + 1 : r); i++)
        dtype_decode(dst->dtype, dst->half + i * width, copies + i % KERNEL * c->zeros, width);
}

/* Rows [from, to) of all images' source, counted through; sums[c->sums]; zeros: a row of dst. */
static void sum_rows(const struct conv *c, const struct tensor *src, const struct tensor *dst,
                     size_t from, size_t to, float *row, const float *zeros, float *sums)
{
    size_t lanes = c->rows->lanes;
    float *copies = row + KEPT * c->width;

    memset(sums, 0, c->sums * sizeof *sums);
    for (size_t r = from; r < to; r++) {
        size_t y = r % c->s.h;
        const float *d = dst_row(c, dst, r, true, copies, zeros);
        const float *below = dst_row(c, dst, r + 1, y + 1 < c->s.h, copies, zeros);
        const float *above = dst_row(c, dst, r - 1, y > 0, copies, zeros);

        copy_dst(c, dst, r, r == from, copies);
        copy_row(c, src, r, row);
        for (size_t b = 0; b < c->nblocks; b++) {
            size_t l = b * lanes;
            const float *rows[KERNEL] = {below + (below == zeros ? 0 : l), d + l,
                                         above + (above == zeros ? 0 : l)};

            c->rows->grad_weights(row, c->group * c->s.src_channels, c->nk, rows, KERNEL,
                                  c->ngroups, c->dst_step, sums + l * KERNEL * c->nk);
            c->rows->sum(d + l, c->ngroups, c->dst_step, sums + c->packed + l);
        }
    }
}

/* Of one source channel and one result channel. */
static void finish_weights(const struct conv *c, const float *sums, size_t s, size_t d, float *dw)
{
    for (size_t k = 0; k < (size_t)KERNEL * KERNEL; k++) {
        dw[k] = 0;
        for (size_t p = 0; p < c->group; p++)
            dw[k] += sums[packed_at(c, k / KERNEL, k % KERNEL, s, d, p)];
    }
}

static void finish_bias(const struct conv *c, const float *sums, float *db)
{
    for (size_t d = 0; d < c->s.dst_channels; d++) {
        db[d] = 0;
        for (size_t p = 0; p < c->group; p++)
            db[d] += sums[c->packed + p * c->s.dst_channels + d];
    }
}

/* Workspace: the sums of all chunks, a row of zeros, rows for each thread. */
static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct conv *c = op->priv;
    float *sums = op->workspace, *zeros = sums + c->nchunks * c->sums, *rooms = zeros + c->zeros;
    float *dw = op->out[0]->data;
    size_t nrows = c->s.n * c->s.h, ns = c->s.src_channels, nd = c->s.dst_channels;

    (void)x;
    (void)e;
    memset(zeros, 0, c->zeros * sizeof *zeros);
#pragma omp parallel num_threads(c->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            sum_rows(c, op->in[1], op->in[0], nrows * i / c->nchunks, nrows * (i + 1) / c->nchunks,
                     rooms + simd_thread() * c->room, zeros, sums + i * c->sums);
        conv_rows_add(sums, c->sums, c->nchunks);
#pragma omp for schedule(static)
        for (size_t i = 0; i < nd * ns; i++)
            finish_weights(c, sums, i % ns, i / ns, dw + i * KERNEL * KERNEL);
    }
    if (op->kind->nout > 1)
        finish_bias(c, sums, op->out[1]->data);
    return 0;
}

static bool supports_forward(const struct op *op)
{
    struct shape_of s = shape_of(op->in[0], op->out[0]);

    return can_do(op, &s);
}

static bool supports_grad_weights(const struct op *op)
{
    struct shape_of s = shape_of(op->in[1], op->in[0]);

    return can_do(op, &s);
}

static int keep(struct op *op, struct conv *c, struct err *e)
{
    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    op->workspace_size += c->nthreads * c->room * sizeof(float);
    op->priv = c;
    return 0;
}

static int prepare_forward(struct op *op, struct err *e)
{
    struct shape_of s = shape_of(op->in[0], op->out[0]);
    struct conv *c = create(&s, true);

    op->workspace_size = c ? (c->packed + c->bias) * sizeof(float) : 0;
    return keep(op, c, e);
}

static int prepare_grad_weights(struct op *op, struct err *e)
{
    struct shape_of s = shape_of(op->in[1], op->in[0]);
    struct conv *c = create(&s, false);

    op->workspace_size = c ? (c->nchunks * c->sums + c->zeros) * sizeof(float) : 0;
    return keep(op, c, e);
}

static void release(struct op *op)
{
    free(op->priv);
}

const struct kernel simd_conv2d = {&conv2d_kind, supports_forward, prepare_forward, run_conv2d,
                                   release};
const struct kernel simd_conv2d_nobias = {&conv2d_nobias_kind, supports_forward, prepare_forward,
                                          run_conv2d, release};
const struct kernel simd_conv2d_grad_input = {&conv2d_grad_input_kind, supports_forward,
                                              prepare_forward, run_grad_input, release};
const struct kernel simd_conv2d_grad_weights = {&conv2d_grad_weights_kind, supports_grad_weights,
                                                prepare_grad_weights, run_grad_weights, release};
const struct kernel simd_conv2d_nobias_grad_weights = {
    &conv2d_nobias_grad_weights_kind, supports_grad_weights, prepare_grad_weights, run_grad_weights,
    release};
