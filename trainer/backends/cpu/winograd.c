/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions by Winograd's algorithm (winograd.h): their plans, weights, and forward pass. */
#include "config.h"
#include "trainer/backends/cpu/winograd.h"

#include <string.h>

#define WINOGRAD_KERNEL 3

#define WINOGRAD_WIDE 2  /* vectors of results computed at once, if their number is even */

/* Which tensors of an op are the operands of a convolution (winograd.h). */

struct conv_operands conv_operands_of(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;

    if (op->kind == &conv2d_grad_weights_kind)
        return (struct conv_operands){in[1], in[0], out[0], out[1]};
    if (op->kind == &conv2d_grad_kind)
        return (struct conv_operands){in[0], out[0], in[1], NULL};
    return (struct conv_operands){in[0], out[0], in[1], in[2]};
}

struct conv_operands conv_operands_weights_grad(const struct op *op)
{
    return (struct conv_operands){op->in[2], op->in[0], op->out[1], op->out[2]};
}

/* What all convolutions by Winograd's transforms share: how the work is cut into bands, and how the
 * source is read and transformed. */

#define BAND_TILES 32         /* tiles of a band, about, if a row has fewer. A longer row is a band;
                               * if it has at least twice as many, it is computed in sections of so
                               * many */
#define MIN_TILES 16          /* tiles of a batch, at least: with fewer the weights' transform takes
                               * longer than it saves */
#define MAX_WEIGHTS (1 << 20) /* input channels times output channels */
#define RUNS 8                /* runs of bands per thread, at least, if there are as many bands */
#define MAX_RUN 8             /* bands of a run, at most */

static const struct winograd_rows *rows_of(const struct conv_operands *r)
{
    const struct shape *s = &r->src->shape;

    return winograd_rows_best((size_t)s->dim[DIM_H], (size_t)s->dim[DIM_W],
                              tensor_channels(r->src), tensor_channels(r->dst));
}

bool winograd_supports(const struct op *op)
{
    struct conv_operands r = conv_operands_of(op);
    const struct winograd_rows *rows = rows_of(&r);
    size_t ns = tensor_channels(r.src), nd = tensor_channels(r.dst);

    return rows && op->attr.kernel == WINOGRAD_KERNEL && op->attr.stride <= 1 &&
           op_dilation(op) == 1 && ns * nd <= MAX_WEIGHTS &&
           tensor_pixels(r.src) >= MIN_TILES * rows->tile * rows->tile;
}

/* Makes bands of about that many tiles, cut into sections of rows unless rows are to be whole, and
 * computes the scratch that they need. */
static void winograd_set_band(struct winograd *g, size_t tiles, bool whole)
{
    g->band = g->across < tiles ? tiles / g->across : 1;
    g->section = whole || g->across < 2 * tiles ? g->width : tiles * g->rows->tile;
    g->ntiles = g->band * (g->section / g->rows->tile);
    g->src_place = g->ntiles * g->src_channels + WINOGRAD_LINE;
    g->dst_place = g->ntiles * g->dst_channels + WINOGRAD_LINE;
    g->scratch = g->places * (g->src_place + g->dst_place);
}

struct winograd winograd_of(const struct conv_operands *r)
{
    struct winograd whole = {0}, *g = &whole;

    g->nimages = (size_t)r->src->shape.dim[DIM_N];
    g->height = (size_t)r->src->shape.dim[DIM_H];
    g->width = (size_t)r->src->shape.dim[DIM_W];
    g->src_channels = tensor_channels(r->src);
    g->dst_channels = tensor_channels(r->dst);
    g->rows = rows_of(r);
    g->places = g->rows->side * g->rows->side;
    g->products = conv_rows_find(g->rows->lanes);
    g->nvectors = !g->rows->forward && g->dst_channels % (WINOGRAD_WIDE * g->rows->lanes) == 0
                      ? WINOGRAD_WIDE
                      : 1;
    g->wide = g->nvectors * g->rows->lanes;
    g->place = g->src_channels * g->dst_channels * g->rows->group + WINOGRAD_LINE;
    g->across = g->width / g->rows->tile;
    g->down = g->height / g->rows->tile;
    g->nthreads = simd_threads();
    g->weights = g->places * g->place;
    winograd_set_band(g, BAND_TILES, false);
    g->run = g->nimages * g->down / g->band / (RUNS * g->nthreads);
    g->run = g->run < 1 ? 1 : g->run < MAX_RUN ? g->run : MAX_RUN;
    g->bias = simd_round_up(g->dst_channels, WINOGRAD_LINE);
    g->zeros = g->width * (g->src_channels > g->dst_channels ? g->src_channels : g->dst_channels);
    g->zeros = simd_round_up(g->zeros, WINOGRAD_LINE);
    return whole;
}

size_t winograd_first_new(const struct winograd *g, size_t r)
{
    return r % g->down == 0 ? 0 : g->rows->side - g->rows->tile;
}

/* Transforms a section of a band of the source to scratch d. zeros: a row of zeros. */
static void winograd_transform_source(const struct winograd *g, const struct tensor *src,
                                      const float *zeros, const struct winograd_band *b, float *d)
{
    size_t n = g->src_channels, line = g->width * n, tile = g->rows->tile;
    const float *rows[WINOGRAD_SIDE];

    for (size_t r = b->from; r < b->to; r++, d += b->width / tile * n) {
        for (size_t i = 0; i < g->rows->side; i++) {
            size_t y = tile * (r % g->down) + i - 1; /* -1 wraps to a large number, too */
            const float *row = src->data + (r / g->down * g->height + y) * line;

            rows[i] = (y < g->height ? row : zeros) + b->x * n;
        }
        g->rows->source(rows, b->width, n, winograd_band_beside(g, b), g->src_place, d);
    }
}

void winograd_spread(const struct winograd *g, const struct tensor *t,
                     const struct winograd_band *b, size_t place, float *y)
{
    size_t n = tensor_channels(t), line = g->width * n, tile = g->rows->tile;
    const float *rows[WINOGRAD_SIDE];

    for (size_t r = b->from; r < b->to; r++, y += b->width / tile * n) {
        for (size_t i = 0; i < tile; i++)
            rows[i] = t->data + (r * tile + i) * line + b->x * n;
        g->rows->spread(rows, b->width, n, place, y);
    }
}

struct winograd_band winograd_band_of(const struct winograd *g, size_t from, size_t end)
{
    size_t to = from + g->band < end ? from + g->band : end;

    return (struct winograd_band){from, to, to + g->band < end ? to + g->band : end, 0, g->section};
}

void winograd_band_on(const struct winograd *g, struct winograd_band *b)
{
    b->x += b->width;
    if (g->width - b->x < b->width)
        b->width = g->width - b->x;
}

void winograd_fetch(const struct winograd *g, const struct tensor *t, size_t at, size_t n,
                    const struct winograd_band *b, size_t p)
{
    size_t done = b->x * g->places + p * b->width, all = g->width * g->places;
    size_t from = n * done / all, to = n * (done + b->width) / all;

    simd_fetch(t->data + at + from, to - from);
}

void winograd_fetch_source(const struct winograd *g, const struct tensor *t,
                           const struct winograd_band *b, size_t p)
{
    size_t line = g->width * tensor_channels(t), last = g->nimages * g->height;
    size_t from = b->to * g->rows->tile + 1, to = b->next * g->rows->tile + 1;

    if (b->to < b->next)
        winograd_fetch(g, t, from * line, ((to < last ? to : last) - from) * line, b, p);
}

/* The gradient of the weights of 3x3 convolutions by Winograd's transforms. A chunk of bands has
 * its own sums; the number of chunks does not depend on the number of threads, and their sums are
 * added in order. If there would be fewer than MIN_CHUNKS, because their sums need too much memory
 * or there are few tiles, all threads share one sum, each with places of its own. */

#define SHARED_TILES 256  /* tiles of a band whose products the threads share */
#define MAX_SUMS (1 << 24) /* floats of all chunks: 64 MiB */
#define MIN_CHUNKS 4
/* A large batch has SOME_CHUNKS chunks. It has more, up to MAX_CHUNKS, if their sums fit into ROOM
 * floats or into a ROOM_SHARE-th of the source's floats, whichever is more. */
#define SOME_CHUNKS 8
#define MAX_CHUNKS 64
#define ROOM (1 << 20)
#define ROOM_SHARE 16
/* More than MANY_CHUNKS chunks are made only if each has MANY_BANDS bands, because a chunk's first
 * band is not prefetched. */
#define MANY_CHUNKS 16
#define MANY_BANDS 16
#define CHUNK_TILES 64 /* tiles of a chunk, at least */

size_t winograd_weights_chunks(const struct winograd *g)
{
    size_t size = g->weights + g->bias, most = MAX_SUMS / size, nrows = g->nimages * g->down;
    size_t n = nrows * g->across / CHUNK_TILES, many = nrows / g->band / MANY_BANDS;
    size_t share = g->nimages * g->height * g->width * g->src_channels / ROOM_SHARE;
    size_t room = (share > ROOM ? share : ROOM) / size;

    room = room < SOME_CHUNKS ? SOME_CHUNKS : room < MAX_CHUNKS ? room : MAX_CHUNKS;
    many = many < MANY_CHUNKS ? MANY_CHUNKS : many;
    n = n < room ? n : room;
    n = n < many ? n : many;
    n = n < most ? n : most;
    return n >= MIN_CHUNKS ? n : 0;
}

void winograd_weights_add(const struct winograd *g, size_t p, size_t ntiles, const float *d,
                          const float *y, float *u)
{
    size_t ns = g->src_channels, nd = g->dst_channels, lanes = g->rows->lanes;

    d += p * g->src_place, y += p * g->dst_place, u += p * g->place;
    if (g->rows->grad_weights) {
        g->rows->grad_weights(d, y, ns, nd, ntiles / g->rows->group, u);
        return;
    }
    for (size_t at = 0; at < nd; at += g->wide, u += g->wide * ns) {
        const float *two[WINOGRAD_WIDE] = {y + at, y + at + lanes};

        g->products->grad_weights(d, ns, ns, two, g->nvectors, ntiles, nd, u);
    }
}

/* Sums dy over rows of tiles [from, to), for channels [first, last). */
static void sum_dy(const struct winograd *g, const struct tensor *dy, size_t from, size_t to,
                   size_t first, size_t last, float *sums)
{
    size_t nd = g->dst_channels, area = g->rows->tile * g->width;

    memset(sums + first, 0, (last - first) * sizeof *sums);
    for (; from < to; from++) {
        const float *rows = dy->data + from * area * nd;

        for (size_t d = first; d < last; d += g->rows->lanes)
            g->products->sum(rows + d, area, nd, sums + d);
    }
}

/* Sets sums to the sums over rows of tiles [from, to) of the products of the transformed source and
 * dy, and what follows to the sums of dy. */
static void winograd_weights_sum_chunk(const struct winograd *g,
                                       const struct conv_operands *operands, const float *zeros,
                                       size_t from, size_t to, float *scratch, float *sums)
{
    size_t nd = g->dst_channels, area = g->rows->tile * g->width;
    const struct tensor *dy = operands->dst;
    float *y = scratch + g->places * g->src_place;

    memset(sums, 0, (g->weights + g->bias) * sizeof *sums);
    sum_dy(g, dy, from, to, 0, g->dst_channels, sums + g->weights);
    for (; from < to; from += g->band) {
        struct winograd_band b = winograd_band_of(g, from, to);

        for (; b.x < g->width; winograd_band_on(g, &b)) {
            winograd_transform_source(g, operands->src, zeros, &b, scratch);
            winograd_spread(g, dy, &b, g->dst_place, y);
            for (size_t p = 0; p < g->places; p++) {
                winograd_fetch_source(g, operands->src, &b, p);
                winograd_fetch(g, dy, b.to * area * nd, (b.next - b.to) * area * nd, &b, p);
                winograd_weights_add(g, p, winograd_band_tiles(g, &b), scratch, y, sums);
            }
        }
    }
}

/* The same over all rows, shared among the threads of the parallel region. */
static void sum_shared(const struct winograd *g, const struct conv_operands *operands,
                       const float *zeros, float *scratch, float *sums)
{
    const struct tensor *dy = operands->dst;
    size_t ns = g->src_channels, nd = g->dst_channels, nrows = g->nimages * g->down;
    float *y = scratch + g->places * g->src_place;

#pragma omp for schedule(static) nowait
    for (size_t d = 0; d < nd; d += g->rows->lanes)
        sum_dy(g, dy, 0, nrows, d, d + g->rows->lanes, sums + g->weights);
    for (size_t from = 0; from < nrows; from += g->band) {
        size_t n = nrows - from < g->band ? nrows - from : g->band;

#pragma omp for schedule(dynamic)
        for (size_t r = 0; r < n; r++) {
            struct winograd_band b = {.from = from + r, .to = from + r + 1, .width = g->width};

            winograd_transform_source(g, operands->src, zeros, &b, scratch + r * g->across * ns);
            winograd_spread(g, dy, &b, g->dst_place, y + r * g->across * nd);
        }
#pragma omp for schedule(dynamic)
        for (size_t p = 0; p < g->places; p++) {
            if (from == 0)
                memset(sums + p * g->place, 0, g->place * sizeof *sums);
            winograd_weights_add(g, p, n * g->across, scratch, y, sums);
        }
    }
}

void winograd_weights_gather(const struct winograd *g, const float *sums, bool turned, float *dw)
{
    size_t ns = g->src_channels, nd = g->dst_channels, lanes = g->rows->lanes;
    size_t window = (size_t)WINOGRAD_KERNEL * WINOGRAD_KERNEL;

#pragma omp for schedule(static)
    for (size_t d = 0; d < nd; d += lanes)
        for (size_t s = 0; s < ns; s++)
            g->rows->gather(sums + (d / g->wide * g->wide * ns + d % g->wide / lanes * ns * lanes +
                                    s * lanes) * g->rows->group,
                            g->place, ns * window, turned, dw + (d * ns + s) * window);
}

/* The pointers into the workspace during one run. sums: of each chunk, or one; scratch: of each
 * thread, or one for all. */
struct winograd_weights_workspace {
    float *sums, *zeros, *scratch;
};

static struct winograd_weights_workspace winograd_weights_workspace_of(const struct winograd *g,
                                                                       struct simd_workspace *w)
{
    size_t nsums = g->nchunks ? g->nchunks : 1, nscratch = g->nchunks ? g->nthreads : 1;

    return (struct winograd_weights_workspace){
        .sums = simd_take(w, nsums * (g->weights + g->bias), sizeof(float)),
        .zeros = simd_take(w, g->zeros, sizeof(float)),
        .scratch = simd_take(w, nscratch * g->scratch, sizeof(float)),
    };
}

static int winograd_weights_run(struct op *op, struct exec *x, struct err *e)
{
    const struct winograd *g = op->priv;
    struct conv_operands operands = conv_operands_of(op);
    const struct winograd_weights_workspace p =
        winograd_weights_workspace_of(g, &(struct simd_workspace){op->workspace, 0});
    size_t nrows = g->nimages * g->down, size = g->weights + g->bias;

    memset(p.zeros, 0, g->zeros * sizeof *p.zeros);
#pragma omp parallel num_threads(g->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < g->nchunks; i++)
            winograd_weights_sum_chunk(g, &operands, p.zeros, nrows * i / g->nchunks,
                                       nrows * (i + 1) / g->nchunks,
                                       p.scratch + simd_thread() * g->scratch, p.sums + i * size);
        if (g->nchunks)
            conv_rows_add(p.sums, size, g->nchunks);
        else
            sum_shared(g, &operands, p.zeros, p.scratch, p.sums);
        winograd_weights_gather(g, p.sums, false, operands.weights->data);
    }
    if (operands.bias)
        memcpy(operands.bias->data, p.sums + g->weights, g->dst_channels * sizeof *p.sums);
    return 0;
}

static int winograd_weights_prepare(struct op *op, struct err *e)
{
    struct conv_operands operands = conv_operands_of(op);
    struct winograd g = winograd_of(&operands);
    struct simd_workspace w = {0};

    g.nchunks = winograd_weights_chunks(&g);
    if (!g.nchunks)
        winograd_set_band(&g, simd_min(g.nimages * g.down * g.across, SHARED_TILES), true);
    winograd_weights_workspace_of(&g, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &g, sizeof g, e);
}

const struct kernel simd_winograd_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = winograd_supports,
    .prepare = winograd_weights_prepare, .run = winograd_weights_run, .release = simd_release};

/* 3x3 convolutions by Winograd's transforms: forward, and the gradient of the input, which is the
 * convolution with the window rotated by 180 degrees and the input and output channels
 * exchanged. */

/* Writes packed[place][block of d][s][d], for source channels s and result channels d. */
void winograd_conv_pack(const struct winograd *g, const float *w, bool turned, float *packed)
{
    size_t ns = g->src_channels, nd = g->dst_channels, lanes = g->rows->lanes;
    size_t window = (size_t)WINOGRAD_KERNEL * WINOGRAD_KERNEL;

#pragma omp for schedule(static)
    for (size_t d = 0; d < nd; d += lanes)
        for (size_t s = 0; s < ns; s++)
            g->rows->window(w + (turned ? s * nd + d : d * ns + s) * window,
                            (turned ? 1 : ns) * window, turned, g->place,
                            packed + (d / g->wide * g->wide * ns + s * g->wide + d % g->wide) *
                            g->rows->group);
}

void winograd_conv_fetch(const struct winograd *g, const struct tensor *t,
                         const struct winograd_band *b, size_t p)
{
    size_t line = g->rows->tile * g->width * tensor_channels(t);

    winograd_fetch(g, t, b->from * line, (b->to - b->from) * line, b, p);
}

void winograd_conv_multiply(const struct winograd *g, size_t p, const float *packed,
                            const float *zeros, size_t ntiles, const float *d, float *m)
{
    size_t ns = g->src_channels, nd = g->dst_channels;

    packed += p * g->place, d += p * g->src_place, m += p * g->dst_place;
    if (g->rows->forward)
        g->rows->forward(d, packed, ns, nd, ntiles / g->rows->group, m);
    else
        for (size_t at = 0; at < nd; at += g->wide)
            g->products->forward(&d, 1, ns, ns, packed + at * ns, zeros, ntiles, nd, g->nvectors,
                                 m + at);
}

void winograd_conv_write(const struct winograd *g, const struct tensor *dst, const float *m,
                         const float *bias, const struct winograd_band *b)
{
    size_t n = g->dst_channels, tile = g->rows->tile, line = g->width * n;
    float *rows[WINOGRAD_SIDE];

    for (size_t r = b->from; r < b->to; r++, m += b->width / tile * n) {
        for (size_t i = 0; i < tile; i++)
            rows[i] = dst->data + (r * tile + i) * line + b->x * n;
        g->rows->result(m, g->dst_place, b->width, n, bias, g->relu, rows);
    }
}

/* The pointers into the workspace during one run. */
struct winograd_conv_workspace {
    float *packed, *bias, *zeros, *scratch;
};

static struct winograd_conv_workspace winograd_conv_workspace_of(const struct winograd *g,
                                                                 struct simd_workspace *w)
{
    return (struct winograd_conv_workspace){
        .packed = simd_take(w, g->weights, sizeof(float)),
        .bias = simd_take(w, g->bias, sizeof(float)),
        .zeros = simd_take(w, g->zeros, sizeof(float)),
        .scratch = simd_take(w, g->nthreads * g->scratch, sizeof(float)),
    };
}

static void correlate_part(const struct winograd *g, const struct conv_operands *operands,
                           const struct winograd_conv_workspace *w, const struct winograd_band *b)
{
    float *scratch = w->scratch + simd_thread() * g->scratch;
    float *m = scratch + g->places * g->src_place;

    winograd_transform_source(g, operands->src, w->zeros, b, scratch);
    for (size_t p = 0; p < g->places; p++) {
        winograd_fetch_source(g, operands->src, b, p);
        winograd_conv_fetch(g, operands->dst, b, p);
        winograd_conv_multiply(g, p, w->packed, w->zeros, winograd_band_tiles(g, b), scratch, m);
    }
    winograd_conv_write(g, operands->dst, m, w->bias, b);
}

static int winograd_conv_run(struct op *op, struct exec *x, struct err *e)
{
    const struct winograd *g = op->priv;
    struct conv_operands operands = conv_operands_of(op);
    const struct winograd_conv_workspace w =
        winograd_conv_workspace_of(g, &(struct simd_workspace){op->workspace, 0});
    size_t nrows = g->nimages * g->down, nd = g->dst_channels;

    memset(w.zeros, 0, g->zeros * sizeof *w.zeros);
    memset(w.bias, 0, nd * sizeof *w.bias);
    if (operands.bias)
        memcpy(w.bias, operands.bias->data, nd * sizeof *w.bias);
#pragma omp parallel num_threads(g->nthreads)
    {
        winograd_conv_pack(g, operands.weights->data, op->kind == &conv2d_grad_input_kind,
                           w.packed);
#pragma omp for schedule(dynamic, g->run)
        for (size_t from = 0; from < nrows; from += g->band) {
            struct winograd_band b = winograd_band_of(g, from, nrows);

            for (; b.x < g->width; winograd_band_on(g, &b))
                correlate_part(g, &operands, &w, &b);
        }
    }
    return 0;
}

static int winograd_conv_prepare(struct op *op, struct err *e)
{
    struct conv_operands operands = conv_operands_of(op);
    struct winograd g = winograd_of(&operands);
    struct simd_workspace w = {0};

    g.relu = op->kind == &conv2d_relu_kind;
    winograd_conv_workspace_of(&g, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &g, sizeof g, e);
}

#define KERNEL_OF(_kind) \
    .kind = &_kind, .supports = winograd_supports, .prepare = winograd_conv_prepare, \
    .run = winograd_conv_run, .release = simd_release

const struct kernel simd_winograd = {KERNEL_OF(conv2d_kind)};
const struct kernel simd_winograd_relu = {KERNEL_OF(conv2d_relu_kind)};
const struct kernel simd_winograd_grad_input = {KERNEL_OF(conv2d_grad_input_kind)};
