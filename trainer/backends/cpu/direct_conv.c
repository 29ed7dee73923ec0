/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions and transposed convolutions with all windows and strides of core/ops.def and any
 * number of channels, for ops that the faster kernels do not support; but for those with
 * dilation, and gradients of inputs with windows of 5x5 and 7x7.
 *
 * Six ops are one sum of products: both kinds, and their gradients of the input and of the weights.
 * It has a coarse tensor (y of a convolution, x of a transposed one), a fine tensor and weights:
 *
 *     coarse[y][x][c]   fine[y stride + i - pad][x stride + j - pad][f]   w[c][f][i][j]
 *
 * Each op computes one of the three from the products of the other two.
 *
 * The products are those of conv_rows.h. A row of results is cut into cells, all with the same
 * weights: a cell is one pixel, or `stride` pixels if the result is the fine tensor. A vector holds
 * several cells, or a section of one. Behind them: 1x1 convolutions to one channel. */
#include "src/base.h"
#include "trainer/backends/cpu/conv_rows.h"

#include "trainer/backends/cpu/simd.h"
#include "trainer/backends/ref/ref.h"

#define MAX_ROWS 7           /* rows of a window */
#define MAX_SUMS (1 << 22)   /* floats of all chunks, unless one chunk has more */
#define LINE 16              /* floats of a cache line; each section of direct_conv_run()'s
                              * workspace begins with one */

/* op->priv: one op, which computes dst from src and the weights. The gradient of the weights is
 * computed from src and dst, which are then the fine and the coarse tensor, or with 1x1 windows
 * either way round. */
struct direct {
    const struct conv_rows *rows;
    bool up;               /* dst is the fine tensor, and the result */
    bool by_src;           /* the weights' first index is the channel of src */
    bool relu;             /* a ReLU is applied to the results */
    size_t kernel, stride, pad;
    size_t n, src_h, src_w, dst_h, dst_w, ns, nd;
    size_t cell, advance;  /* pixels of dst in a cell; pixels of src from one cell to the next */
    size_t left;           /* pixels of a cell's window that are left of the cell */
    size_t nv, group;      /* values of a cell; cells of a vector */
    size_t nvectors, wide, nblocks; /* vectors computed at once; their values; how many times */
    size_t nphases, nrows; /* rows of pixels of a cell; the largest number of window rows of one of
                            * them */
    size_t nk, step, dst_step, ngroups;
    size_t width, result;  /* floats of a row of src with its borders; of a row of dst in whole
                            * vectors */
    size_t packed, bias, sums, nchunks, nthreads;
};

/* tap_phase() returns the row, or column, of the pixel in its cell that tap i belongs to. tap_row()
 * and tap_column() return the tap's row and column in that pixel's window; if dst is the fine
 * tensor rows count from the last one. */
static size_t tap_phase(const struct direct *d, size_t i)
{
    return d->up ? (i + d->stride - d->pad) % d->stride : 0;
}

static size_t tap_row(const struct direct *d, size_t i)
{
    return d->up ? i / d->stride : i;
}

static size_t tap_column(const struct direct *d, size_t j)
{
    return d->up ? d->left + (tap_phase(d, j) + d->pad) / d->stride - j / d->stride : j;
}

static size_t count_rows(const struct direct *d, size_t phase)
{
    size_t n = 0;

    for (size_t i = 0; i < d->kernel; i++)
        n += tap_phase(d, i) == phase;
    return n;
}

static void set_window(struct direct *d)
{
    size_t span = 0, column;

    d->cell = d->up ? d->stride : 1;
    d->advance = d->up ? 1 : d->stride;
    d->nphases = d->cell;
    for (size_t i = 0; i < d->nphases; i++)
        d->nrows = count_rows(d, i) > d->nrows ? count_rows(d, i) : d->nrows;
    d->left = d->up && d->stride > 1 ? 0 : d->pad;
    for (size_t j = 0; j < d->kernel; j++) {
        column = tap_column(d, j);
        span = column + 1 > span ? column + 1 : span;
    }
    d->nk = ((d->group - 1) * d->advance + span) * d->ns;
}

/* Returns the plan of an op. wide: two vectors of results are computed at once if the values of a
 * cell are a whole number of such pairs. */
static struct direct direct_of(const struct op *op, const struct tensor *src,
                               const struct tensor *dst, const struct tensor *weights, bool up,
                               bool wide)
{
    bool transposed = weights->shape.dim[2] == 2;
    struct direct d = {
        .rows = conv_rows_best(), .up = up, .by_src = up, .kernel = (size_t)weights->shape.dim[2],
        .stride = transposed || op->attr.stride > 1 ? 2 : 1,
        .pad = transposed ? 0 : (size_t)weights->shape.dim[2] / 2,
        .n = (size_t)src->shape.dim[DIM_N], .src_h = (size_t)src->shape.dim[DIM_H],
        .src_w = (size_t)src->shape.dim[DIM_W], .dst_h = (size_t)dst->shape.dim[DIM_H],
        .dst_w = (size_t)dst->shape.dim[DIM_W], .ns = tensor_channels(src),
        .nd = tensor_channels(dst), .nthreads = simd_threads()};
    size_t lanes = d.rows->lanes;

    d.nv = (up ? d.stride : 1) * d.nd;
    d.group = d.nv < lanes ? lanes / d.nv : 1;
    d.nvectors = wide && d.nv % (2 * lanes) == 0 ? 2 : 1;
    d.wide = d.nvectors * lanes;
    d.nblocks = d.group > 1 ? 1 : (d.nv + d.wide - 1) / d.wide;
    set_window(&d);
    d.step = d.group * d.advance * d.ns;
    d.dst_step = d.group * d.nv;
    d.ngroups = ((d.dst_w + d.cell - 1) / d.cell + d.group - 1) / d.group;
    d.width = (d.ngroups - 1) * d.step + d.nk;
    if (d.width < (d.left + d.src_w) * d.ns)
        d.width = (d.left + d.src_w) * d.ns;
    d.width = round_up(d.width, LINE);
    d.result = round_up(d.ngroups * d.dst_step + lanes, LINE);
    d.packed = d.nphases * d.nblocks * d.nrows * d.nk * d.wide;
    d.bias = round_up(d.nblocks * d.wide, LINE);
    return d;
}

/* Returns the first value of a cell in a block; the last block ends with the cell and may overlap
 * the one before. */
static size_t block_begin(const struct direct *d, size_t block)
{
    return d->group > 1 || (block + 1) * d->wide <= d->nv ? block * d->wide
           : d->nv > d->wide                              ? d->nv - d->wide
                                                          : 0;
}

/* Returns which value of a cell lane l of a block is, or nv if none, and sets *cell to the cell
 * within the vector. */
static size_t lane_number(const struct direct *d, size_t block, size_t l, size_t *cell)
{
    size_t v = block_begin(d, block) + l;

    *cell = d->group > 1 ? v / d->nv : 0;
    return *cell < d->group && v - *cell * d->nv < d->nv ? v - *cell * d->nv : d->nv;
}

static size_t direct_conv_weight_at(const struct direct *d, size_t s, size_t c, size_t i, size_t j)
{
    size_t tap = i * d->kernel + j, taps = d->kernel * d->kernel;

    return (d->by_src ? s * d->nd + c : c * d->ns + s) * taps + tap;
}

/* Packs the weights of one block and one source channel. */
static void pack_channel(const struct direct *d, const float *w, size_t block, size_t s,
                         float *packed)
{
    for (size_t k = 0; k < d->kernel * d->kernel; k++) {
        size_t i = k / d->kernel, j = k % d->kernel, first = tap_phase(d, j) * d->nd;
        size_t row = (tap_phase(d, i) * d->nblocks + block) * d->nrows + tap_row(d, i);
        float *to = packed + (row * d->nk + tap_column(d, j) * d->ns + s) * d->wide;

        for (size_t l = 0, cell; l < d->wide; l++) {
            size_t v = lane_number(d, block, l, &cell);

            if (v >= first && v < first + d->nd)
                to[cell * d->advance * d->ns * d->wide + l] =
                    w[direct_conv_weight_at(d, s, v - first, i, j)];
        }
    }
}

/* The same for a convolution that is one product of matrices, such as a dense layer. */
static void pack_dense(const struct direct *d, const float *w, size_t block, size_t s,
                       float *packed)
{
    size_t begin = block_begin(d, block), n = d->nv - begin < d->wide ? d->nv - begin : d->wide;
    size_t from = direct_conv_weight_at(d, s, begin, 0, 0), step = d->by_src ? 1 : d->ns;

    packed += (block * d->nk + s) * d->wide;
    for (size_t l = 0; l < n; l++)
        packed[l] = w[from + l * step];
}

/* bias may be NULL. */
static void direct_conv_pack(const struct direct *d, const float *w, const float *bias,
                             float *packed)
{
    bool dense = d->kernel == 1 && d->stride == 1 && d->group == 1;
    size_t ncleared = dense && d->nv % d->wide == 0 ? 0 : d->packed / d->wide;
    float *packed_bias = packed + round_up(d->packed, LINE);

    memset(packed_bias, 0, d->bias * sizeof *packed_bias);
    for (size_t k = 0, cell; bias && k < d->nblocks * d->wide; k++) {
        size_t v = lane_number(d, k / d->wide, k % d->wide, &cell);

        packed_bias[k] = v < d->nv ? bias[v % d->nd] : 0;
    }
#pragma omp parallel num_threads(d->nthreads)
    {
#pragma omp for schedule(static)
        for (size_t k = 0; k < ncleared; k++)
            memset(packed + k * d->wide, 0, d->wide * sizeof *packed);
#pragma omp for schedule(static) collapse(2)
        for (size_t block = 0; block < d->nblocks; block++)
            for (size_t s = 0; s < d->ns; s++)
                (dense ? pack_dense : pack_channel)(d, w, block, s, packed);
    }
}

/* Returns row y of an image of src with its borders, or NULL outside the image. copy: room that
 * holds zeros or an earlier row. */
static const float *read_row(const struct direct *d, const struct tensor *src, size_t image,
                             size_t y, float *copy)
{
    size_t n = d->src_w * d->ns, at = (image * d->src_h + y) * n;

    if (y >= d->src_h)
        return NULL;
    if (!d->left && (d->ngroups - 1) * d->step + d->nk <= n)
        return src->data + at;
    memcpy(copy + d->left * d->ns, src->data + at, n * sizeof *copy);
    return copy;
}

/* Returns whether rows of dst are whole vectors, so that nothing is written or read behind them. */
static bool is_whole(const struct direct *d)
{
    size_t lanes = d->rows->lanes;

    return d->ngroups * d->dst_step == d->dst_w * d->nd &&
           (d->group == 1 ? d->nv >= lanes : d->dst_step == lanes);
}

VECTOR_CLONES static void make_at_least_0(float *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

/* Computes one row of results, counted over all images. room: MAX_ROWS rows of src and one of
 * dst. */
static void correlate_row(const struct direct *d, const struct tensor *src, const float *packed,
                          const float *zeros, size_t r, float *room, const struct tensor *dst)
{
    const float *bias = packed + round_up(d->packed, LINE), *rows[MAX_ROWS];
    size_t y = r % d->dst_h, phase = y % d->nphases, n = count_rows(d, phase),
           row = d->dst_w * d->nd;
    float *copy = room + MAX_ROWS * d->width;
    float *to = is_whole(d) ? dst->data + r * row : copy;

    for (size_t i = 0; i < n; i++) { /* -1 wraps to a large number, too */
        size_t at = d->up ? y / d->stride + (phase + d->pad) / d->stride - i
                          : y * d->stride + i - d->pad;

        rows[i] = read_row(d, src, r / d->dst_h, at, room + i * d->width);
        rows[i] = rows[i] ? rows[i] : zeros;
    }
    packed += phase * d->nblocks * d->nrows * d->nk * d->wide;
    for (size_t b = 0; b < d->nblocks; b++)
        d->rows->forward(rows, n, d->step, d->nk, packed + b * d->nrows * d->nk * d->wide,
                         bias + b * d->wide, d->ngroups, d->dst_step, d->nvectors,
                         to + block_begin(d, b));
    if (d->relu)
        make_at_least_0(to, row);
    if (!is_whole(d))
        memcpy(dst->data + r * row, to, row * sizeof *to);
}

/* Workspace: packed weights, bias, a row of zeros, rows of each thread. */
static int direct_conv_run(struct op *op, struct exec *x, struct err *e)
{
    const struct direct *d = op->priv;
    float *packed = op->workspace, *zeros = packed + round_up(d->packed, LINE) + d->bias;
    float *rooms = zeros + d->width;
    size_t room = MAX_ROWS * d->width + d->result;

    direct_conv_pack(d, op->in[1]->data, op->in[2] ? op->in[2]->data : NULL, packed);
    memset(zeros, 0, (d->width + d->nthreads * room) * sizeof *zeros);
#pragma omp parallel for schedule(static) num_threads(d->nthreads)
    for (size_t r = 0; r < d->n * d->dst_h; r++)
        correlate_row(d, op->in[0], packed, zeros, r, rooms + simd_thread() * room, op->out[0]);
    return 0;
}

/* Returns row r of a tensor, counted over all images, as whole vectors. */
static const float *read_vectors(const struct direct *d, const struct tensor *t, size_t r,
                                 float *copy)
{
    size_t row = d->dst_w * d->nd;

    if (is_whole(d))
        return t->data + r * row;
    memcpy(copy, t->data + r * row, row * sizeof *copy);
    return copy;
}

/* For one block of dst's channels and its rows [from, to): sets sums[kernel][nk][lanes] to the sums
 * of products of these rows with the rows of src in their windows, and what follows to the plain
 * sums of these rows for the bias. */
static void direct_conv_sum_rows(const struct direct *d, const struct tensor *dst,
                                 const struct tensor *src, size_t from, size_t to, size_t block,
                                 float *room, float *sums)
{
    float *copy = room + MAX_ROWS * d->width;

    memset(sums, 0, (d->kernel * d->nk + 1) * d->wide * sizeof *sums);
    for (size_t r = from; r < to; r++) {
        const float *results = read_vectors(d, dst, r, copy) + block_begin(d, block);

        for (size_t i = 0; i < d->kernel; i++) {
            const float *row = read_row(d, src, r / d->dst_h, r % d->dst_h * d->stride + i - d->pad,
                                        room);

            if (row)
                d->rows->grad_weights(row, d->step, d->nk, &results, 1, d->ngroups, d->dst_step,
                                      sums + i * d->nk * d->wide);
        }
        d->rows->sum(results, d->ngroups, d->dst_step, sums + d->kernel * d->nk * d->wide);
    }
}

/* Writes the gradients of the weights, and db unless it is NULL, for one channel of dst. */
static void finish_channel(const struct direct *d, const float *sums, size_t c, float *dw,
                           float *db)
{
    size_t block = d->group > 1 ? 0 : c / d->wide, lane = c - block_begin(d, block);

    sums += block * (d->kernel * d->nk + 1) * d->wide;
    for (size_t s = 0; s < d->ns; s++)
        for (size_t k = 0; k < d->kernel * d->kernel; k++) {
            size_t at = k / d->kernel * d->nk + k % d->kernel * d->ns + s;
            float *sum = dw + direct_conv_weight_at(d, s, c, k / d->kernel, k % d->kernel);

            *sum = 0;
            for (size_t p = 0; p < d->group; p++)
                *sum += sums[(at + p * d->step / d->group) * d->wide + p * d->nd + lane];
        }
    for (size_t p = 0; db && p < d->group; p++)
        db[c] = (p ? db[c] : 0) + sums[d->kernel * d->nk * d->wide + p * d->nd + lane];
}

/* Writes the gradients of the weights for all channels of a block, if their second index is the
 * channel of dst and a vector has values of one pixel. */
static void finish_block(const struct direct *d, const float *sums, size_t block, float *dw)
{
    size_t begin = block_begin(d, block), n = d->nv - begin < d->wide ? d->nv - begin : d->wide;

    for (size_t s = 0; s < d->ns; s++)
        memcpy(dw + s * d->nd + begin, sums + (block * (d->nk + 1) + s) * d->wide, n * sizeof *dw);
}

/* Returns whether dy takes the role of src: in transposed convolutions, and in 1x1 convolutions of
 * stride 1 where x has more channels than dy. */
static bool is_turned(const struct op *op)
{
    const struct tensor *dy = op->in[0], *x = op->in[1];

    return op->kind == &conv_transpose2d_grad_weights_kind ||
           (op->attr.kernel == 1 && op->attr.stride <= 1 &&
            tensor_channels(x) > tensor_channels(dy));
}

/* The tensors that take the roles of src and dst for the gradient of the weights. */
static const struct tensor *weights_src(const struct op *op)
{
    return op->in[is_turned(op) ? 0 : 1];
}

static const struct tensor *weights_dst(const struct op *op)
{
    return op->in[is_turned(op) ? 1 : 0];
}

/* Workspace: the sums of all chunks, rows of each thread, the partial sums of the bias. */
static int direct_conv_run_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct direct *d = op->priv;
    bool turned = is_turned(op), in_blocks = d->by_src && d->group == 1;
    const struct tensor *src = weights_src(op), *dst = weights_dst(op);
    size_t nrows = d->n * d->dst_h, room = MAX_ROWS * d->width + d->result;
    float *sums = op->workspace, *rooms = sums + d->nchunks * d->sums;
    float *db = op->out[1] ? op->out[1]->data : NULL;

    memset(rooms, 0, d->nthreads * room * sizeof *rooms);
#pragma omp parallel num_threads(d->nthreads)
    {
#pragma omp for schedule(dynamic) collapse(2)
        for (size_t i = 0; i < d->nchunks; i++)
            for (size_t b = 0; b < d->nblocks; b++)
                direct_conv_sum_rows(d, dst, src, nrows * i / d->nchunks,
                                     nrows * (i + 1) / d->nchunks, b, rooms + simd_thread() * room,
                                     sums + i * d->sums + b * (d->kernel * d->nk + 1) * d->wide);
        conv_rows_add(sums, d->sums, d->nchunks);
#pragma omp for schedule(static)
        for (size_t b = 0; b < (in_blocks ? d->nblocks : 0); b++)
            finish_block(d, sums, b, op->out[0]->data);
#pragma omp for schedule(static)
        for (size_t c = 0; c < (in_blocks ? 0 : d->nd); c++)
            finish_channel(d, sums, c, op->out[0]->data, turned ? NULL : db);
    }
    if (db && turned)
        chunks_bias(src, (double *)(void *)(rooms + d->nthreads * room), db);
    return 0;
}

static bool direct_conv_supports(const struct op *op)
{
    return conv_rows_best() && op_dilation(op) == 1 &&
           (op->attr.kernel <= 3 || op->kind != &conv2d_grad_input_kind);
}

static int direct_conv_keep(struct op *op, const struct direct *d, size_t nfloats, struct err *e)
{
    op->workspace_size = (nfloats + d->nthreads * (MAX_ROWS * d->width + d->result)) *
                         sizeof(float);
    return simd_keep(op, d, sizeof *d, e);
}

/* The gradient of the input is also a convolution with the window rotated. */
static int direct_conv_prepare(struct op *op, struct err *e)
{
    bool up = op->kind == &conv2d_grad_input_kind || op->kind == &conv_transpose2d_kind;
    struct direct d = direct_of(op, op->in[0], op->out[0], op->in[1], up, true);

    d.relu = op->kind == &conv2d_relu_kind;
    return direct_conv_keep(op, &d, round_up(d.packed, LINE) + d.bias + d.width, e);
}

static int direct_conv_prepare_weights(struct op *op, struct err *e)
{
    bool turned = is_turned(op);
    struct direct d = direct_of(op, weights_src(op), weights_dst(op), op->out[0], false, false);
    size_t most;

    d.by_src = turned && d.kernel == 1;
    d.sums = d.nblocks * (d.kernel * d.nk + 1) * d.wide;
    most = MAX_SUMS / d.sums;
    d.nchunks = conv_rows_chunks(d.n * d.dst_h * d.dst_w);
    d.nchunks = d.nchunks > most ? most : d.nchunks;
    d.nchunks = d.nchunks > 0 ? d.nchunks : 1;
    if (direct_conv_keep(op, &d, d.nchunks * d.sums, e) < 0)
        return -1;
    if (turned)
        op->workspace_size += chunks_workspace(d.ns) * sizeof(double);
    return 0;
}

#define KERNEL(name, _prepare, _run)                                                 \
    const struct kernel simd_direct_##name = {                                       \
        .kind = &name##_kind, .supports = direct_conv_supports, .prepare = _prepare, \
        .run = _run, .release = simd_release}

KERNEL(conv2d, direct_conv_prepare, direct_conv_run);
KERNEL(conv2d_relu, direct_conv_prepare, direct_conv_run);
KERNEL(conv2d_grad_input, direct_conv_prepare, direct_conv_run);
KERNEL(conv2d_grad_weights, direct_conv_prepare_weights, direct_conv_run_weights);
KERNEL(conv_transpose2d, direct_conv_prepare, direct_conv_run);
KERNEL(conv_transpose2d_grad_input, direct_conv_prepare, direct_conv_run);
KERNEL(conv_transpose2d_grad_weights, direct_conv_prepare_weights, direct_conv_run_weights);

/* 1x1 convolutions to one channel, such as the last one of a network with one logit for each pixel:
 * a dot product for each pixel, which is bound by memory. The kernels above would fill the lanes of
 * their vectors with pixels and multiply mostly by zeros. */

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
