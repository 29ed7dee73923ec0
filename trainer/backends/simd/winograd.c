/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions by Winograd's transforms (winograd_rows.h), a band of rows of tiles at a time, so
 * that what is transformed stays in the cache of a core. The products are those of conv_rows.h.
 *
 * The gradient of the input is the same convolution with the window turned by 180 degrees and the
 * roles of the channels changed. The gradient of the weights is summed in chunks of bands whose
 * number does not depend on the threads, and these are added in order; with so many channels that
 * few chunks have room, the threads share the places of one sum instead. */
#include "config.h"
#include "trainer/backends/simd/winograd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/conv_rows.h"
#include "trainer/backends/simd/float_rows.h"
#include "trainer/backends/simd/norm_moments.h"
#include "trainer/backends/simd/roles.h"
#include "trainer/backends/simd/simd.h"
#include "trainer/backends/simd/winograd_rows.h"

#define KERNEL 3
#define LINE 16                  /* floats of a line of the cache; what is in scratch begins with one */
#define BAND_TILES 32            /* of a band, about */
#define SHARED_TILES 256         /* of a band whose products the threads share */
#define MIN_TILES 16             /* of all images: fewer would not pay for the weights' transform */
#define MAX_WEIGHTS (1 << 20)    /* of a place */
#define MAX_SUMS (1 << 24)       /* floats of all chunks: 64 MiB */
#define MIN_CHUNKS 4
#define MAX_CHUNKS 16
#define CHUNK_TILES 64           /* at least */
#define RUNS 8                   /* of bands, for each thread at least, where there are as many */
#define MAX_RUN 8
#define WIDE 2                   /* vectors of results computed at once, where there are as many */

/* op->priv */
struct winograd {
    const struct conv_rows *products;
    const struct winograd_rows *rows;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;           /* of all parts */
    size_t src_part[PARTS], dst_part[PARTS];     /* of each */
    size_t places;
    size_t nvectors, wide;   /* vectors and channels of results computed at once */
    size_t place;            /* floats of a place's weights */
    size_t across, down;     /* tiles of a row; rows of tiles of an image */
    size_t band, ntiles;     /* rows of tiles of a band, of all images counted through; tiles */
    /* Floats from one place to the next of what is transformed: never a multiple of a page, whose
     * lines would all meet in the same few of the cache. */
    size_t src_place, dst_place;
    size_t nthreads, nchunks; /* no chunks: the threads share places */
    size_t run;              /* neighbouring bands of a thread */
    size_t weights, scratch; /* floats: transformed weights, with a bias when they are summed; of
                              * one thread */
    size_t bias, zeros;
    size_t lines;            /* floats of one thread's copy of the rows of a row of tiles; 0: all
                              * activations are floats that are taken as they are */
    float_rows_narrow_f *narrow;
    struct norm_moments moments; /* of each band */
    size_t parts;                /* floats of the workspace before them */
};

static size_t largest_channels(const struct tensor *const *parts)
{
    size_t a = tensor_channels(parts[0]), b = parts[1] ? tensor_channels(parts[1]) : 0;

    return a > b ? a : b;
}

/* Floats of the rows under a row of tiles, of the part with most channels. */
static size_t lines_of(const struct winograd *g, const struct roles *r, bool normed)
{
    size_t ns = largest_channels(r->src), nd = largest_channels(r->dst);

    return !normed && r->src[0]->dtype == DTYPE_F32 && r->dst[0]->dtype == DTYPE_F32
               ? 0 : g->rows->side * g->width * (ns > nd ? ns : nd);
}

static const struct winograd_rows *rows_of(const struct roles *r)
{
    const struct shape *s = &r->src[0]->shape;

    return winograd_rows_best((size_t)s->dim[DIM_H], (size_t)s->dim[DIM_W],
                              roles_common_channels(r->src), roles_common_channels(r->dst));
}

static bool supports(const struct op *op)
{
    struct roles r = roles_of(op);
    const struct winograd_rows *rows = rows_of(&r);
    size_t ns = roles_channels(r.src), nd = roles_channels(r.dst), pixels = tensor_pixels(r.src[0]);

    return rows && float_rows_support(op) && norm_moments_support(op) && op->attr.kernel == KERNEL && op->attr.stride <= 1 &&
           ns * nd <= MAX_WEIGHTS && pixels >= MIN_TILES * rows->tile * rows->tile;
}

static size_t chunks_of(const struct winograd *g)
{
    size_t most = MAX_SUMS / (g->weights + g->bias);
    size_t n = g->nimages * g->down * g->across / CHUNK_TILES;

    n = n < MAX_CHUNKS ? n : MAX_CHUNKS;
    n = n < most ? n : most;
    return n >= MIN_CHUNKS ? n : 0;
}

static void set_band(struct winograd *g, size_t tiles)
{
    g->band = g->across < tiles ? tiles / g->across : 1;
    g->ntiles = g->band * g->across;
    g->src_place = g->ntiles * g->src_channels + LINE;
    g->dst_place = g->ntiles * g->dst_channels + LINE;
    g->scratch = g->places * (g->src_place + g->dst_place);
}

static struct winograd *create(const struct roles *r, bool normed)
{
    struct winograd *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    g->height = (size_t)r->src[0]->shape.dim[DIM_H];
    g->width = (size_t)r->src[0]->shape.dim[DIM_W];
    g->src_channels = roles_channels(r->src);
    g->dst_channels = roles_channels(r->dst);
    for (int k = 0; k < PARTS; k++) {
        g->src_part[k] = r->src[k] ? tensor_channels(r->src[k]) : 0;
        g->dst_part[k] = r->dst[k] ? tensor_channels(r->dst[k]) : 0;
    }
    g->rows = rows_of(r);
    g->places = g->rows->side * g->rows->side;
    g->lines = lines_of(g, r, normed);
    g->narrow = float_rows_narrow();
    g->products = conv_rows_find(g->rows->lanes);
    g->nvectors = !g->rows->forward && g->dst_channels % (WIDE * g->rows->lanes) == 0 ? WIDE : 1;
    g->wide = g->nvectors * g->rows->lanes;
    g->place = g->src_channels * g->dst_channels * g->rows->group;
    g->across = g->width / g->rows->tile;
    g->down = g->height / g->rows->tile;
    g->nthreads = simd_threads();
    g->weights = g->places * g->place;
    set_band(g, BAND_TILES);
    g->run = g->nimages * g->down / g->band / (RUNS * g->nthreads);
    g->run = g->run < 1 ? 1 : g->run < MAX_RUN ? g->run : MAX_RUN;
    g->bias = (g->dst_channels + LINE - 1) / LINE * LINE;
    g->zeros = g->width * (g->src_channels > g->dst_channels ? g->src_channels : g->dst_channels);
    g->zeros = (g->zeros + LINE - 1) / LINE * LINE;
    return g;
}

static const float *read_source(const struct roles *roles, int part, size_t at, size_t n, float *copy)
{
    const float *row = float_rows_read(roles->src[part], at, n, copy);

    if (!roles->norm)
        return row;
    batch_norm_apply(roles->norm, row, n, copy);
    return copy;
}

/* The rows of pixels under row of tiles r, counted through all images, from its first on. */
static void source_rows(const struct winograd *g, const struct roles *roles, int part, const float *zeros,
                        size_t r, float *lines, const float **rows)
{
    size_t line = g->width * g->src_part[part];

    for (size_t i = 0; i < g->rows->side; i++) {
        size_t y = g->rows->tile * (r % g->down) + i - 1; /* wraps: too large as well */

        rows[i] = y < g->height ? read_source(roles, part, (r / g->down * g->height + y) * line, line,
                                              lines + i * line)
                                : zeros;
    }
}

/* Rows of tiles [from, to) to scratch. */
static void transform_source(const struct winograd *g, const struct roles *roles,
                             const float *zeros, size_t from, size_t to, float *lines, float *d)
{
    const float *rows[WINOGRAD_SIDE];
    size_t ns = g->src_channels;

    for (size_t r = from; r < to; r++, d += g->across * ns) {
        size_t at = 0;

        for (int k = 0; k < PARTS && roles->src[k]; at += g->src_part[k++]) {
            source_rows(g, roles, k, zeros, r, lines, rows);
            g->rows->source(rows, g->width, g->src_part[k], ns, g->src_place,
                            d + at * g->rows->group);
        }
    }
}

/* packed[place][block of d][s][d]; turned: for the gradient of the input. Shares the work among
 * the threads of the parallel region. */
static void pack(const struct winograd *g, const float *w, bool turned, float *packed)
{
    size_t ns = g->src_channels, nd = g->dst_channels, lanes = g->rows->lanes;
    size_t window = (size_t)KERNEL * KERNEL;

#pragma omp for schedule(static)
    for (size_t d = 0; d < nd; d += lanes)
        for (size_t s = 0; s < ns; s++)
            g->rows->window(w + (turned ? s * nd + d : d * ns + s) * window,
                            (turned ? 1 : ns) * window, turned, g->place,
                            packed + (d / g->wide * g->wide * ns + s * g->wide + d % g->wide) *
                                         g->rows->group);
}

/* A band, and where the next one ends; in rows of tiles. */
struct band {
    size_t from, to, next;
};

static struct band band_of(const struct winograd *g, size_t from, size_t end)
{
    size_t to = from + g->band < end ? from + g->band : end;

    return (struct band){from, to, to + g->band < end ? to + g->band : end};
}

/* Part p of n numbers from `at` on, while the products of place p are computed: what waits for memory is a third of
 * the time if nothing is asked for before. */
static void fetch(const struct winograd *g, const struct tensor *t, size_t at, size_t n, size_t p)
{
    size_t from = n * p / g->places, to = n * (p + 1) / g->places;

    float_rows_fetch(t, at + from, to - from);
}

/* To be written by this band. */
static void fetch_results(const struct winograd *g, const struct tensor *t, const struct band *b,
                          size_t p)
{
    size_t line = g->rows->tile * g->width * tensor_channels(t);

    fetch(g, t, b->from * line, (b->to - b->from) * line, p);
}

/* To be read by the next one: a row of pixels above was read by this one, that below is not its own. */
static void fetch_source(const struct winograd *g, const struct tensor *t, const struct band *b,
                         size_t p)
{
    size_t line = g->width * tensor_channels(t), last = g->nimages * g->height;
    size_t from = b->to * g->rows->tile + 1, to = b->next * g->rows->tile + 1;

    if (b->to < b->next)
        fetch(g, t, from * line, ((to < last ? to : last) - from) * line, p);
}

static void multiply(const struct winograd *g, const struct roles *roles, const struct band *b,
                     const float *packed, const float *zeros, const float *d, float *m)
{
    size_t ns = g->src_channels, nd = g->dst_channels, ntiles = (b->to - b->from) * g->across;

    for (size_t p = 0; p < g->places;
         p++, d += g->src_place, m += g->dst_place, packed += g->place) {
        for (int k = 0; k < PARTS; k++) {
            if (roles->src[k])
                fetch_source(g, roles->src[k], b, p);
            if (roles->dst[k])
                fetch_results(g, roles->dst[k], b, p);
        }
        if (g->rows->forward)
            g->rows->forward(d, packed, ns, nd, ntiles / g->rows->group, m);
        else
            for (size_t at = 0; at < nd; at += g->wide)
                g->products->forward(&d, 1, ns, ns, packed + at * ns, zeros, ntiles, nd,
                                     g->nvectors, m + at);
    }
}

/* A row of tiles from its products. */
static void write_results(const struct winograd *g, const struct roles *roles, const float *m,
                          const float *bias, size_t r, float *lines)
{
    size_t tile = g->rows->tile;

    for (size_t k = 0, at = 0; k < PARTS && roles->dst[k]; at += g->dst_part[k++]) {
        size_t line = g->width * g->dst_part[k];
        float *rows[WINOGRAD_SIDE];

        for (size_t i = 0; i < tile; i++)
            rows[i] = float_rows_begin(roles->dst[k], (r * tile + i) * line, lines + i * line);
        g->rows->result(m + at * g->rows->group, g->dst_place, g->width, g->dst_part[k],
                        g->dst_channels, bias + at, rows);
        float_rows_done(roles->dst[k], r * tile * line, tile * line, lines, g->narrow);
    }
}

static void correlate_band(const struct winograd *g, const struct roles *roles,
                           const struct band *b, const float *packed, const float *bias,
                           const float *zeros, float *lines, float *scratch)
{
    float *m = scratch + g->places * g->src_place;

    transform_source(g, roles, zeros, b->from, b->to, lines, scratch);
    multiply(g, roles, b, packed, zeros, scratch, m);
    for (size_t r = b->from; r < b->to; r++, m += g->across * g->dst_channels)
        write_results(g, roles, m, bias, r, lines);
}

/* Workspace: weights, bias, zeros, scratch for each thread, lines, and parts of moments. */
static void correlate(const struct op *op, const struct batch_norm_map *norm, bool turned)
{
    const struct winograd *g = op->priv;
    struct roles roles = roles_of(op);
    size_t nrows = g->nimages * g->down, nd = g->dst_channels;
    float *packed = op->workspace, *bias = packed + g->weights, *zeros = bias + g->bias;
    float *scratch = zeros + g->zeros, *lines = scratch + g->nthreads * g->scratch;
    double *parts = (double *)(void *)(packed + g->parts);
    size_t area = g->rows->tile * g->width;

    roles.norm = norm;
    memset(zeros, 0, g->zeros * sizeof *zeros);
    memset(bias, 0, nd * sizeof *bias);
    if (roles.bias)
        memcpy(bias, roles.bias->data, nd * sizeof *bias);
#pragma omp parallel num_threads(g->nthreads)
    {
        pack(g, roles.weights->data, turned, packed);
#pragma omp for schedule(dynamic, g->run)
        for (size_t from = 0; from < nrows; from += g->band) {
            struct band b = band_of(g, from, nrows);

            correlate_band(g, &roles, &b, packed, bias, zeros, lines + simd_thread() * g->lines,
                           scratch + simd_thread() * g->scratch);
            if (g->moments.rows)
                norm_moments_part(&g->moments, roles.dst[0]->data + from * area * nd,
                                  (b.to - b.from) * area, parts + from / g->band * g->moments.size);
        }
    }
    if (g->moments.rows)
        norm_moments_write(&g->moments, parts, op_moments_out(op));
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, NULL, false);
    return 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, NULL, true);
    return 0;
}

void winograd_run_normed(struct op *op, const struct batch_norm_map *norm)
{
    correlate(op, norm, false);
}

/* Rows of tiles [from, to) of dy to scratch. */
static void transform_dy(const struct winograd *g, const struct tensor *dy, size_t from, size_t to,
                         float *lines, float *y)
{
    size_t nd = g->dst_channels, tile = g->rows->tile, line = g->width * nd;
    const float *rows[WINOGRAD_SIDE];

    for (size_t r = from; r < to; r++, y += g->across * nd) {
        for (size_t i = 0; i < tile; i++)
            rows[i] = float_rows_read(dy, (r * tile + i) * line, line, lines + i * line);
        g->rows->spread(rows, g->width, nd, g->dst_place, y);
    }
}

/* u[block of d][s][d] of place p += the products of a band. */
static void add_products(const struct winograd *g, size_t p, size_t ntiles, const float *scratch,
                         float *u)
{
    const float *d = scratch + p * g->src_place;
    const float *y = scratch + g->places * g->src_place + p * g->dst_place;
    size_t ns = g->src_channels, nd = g->dst_channels, lanes = g->rows->lanes;

    if (g->rows->grad_weights) {
        g->rows->grad_weights(d, y, ns, nd, ntiles / g->rows->group, u);
        return;
    }
    for (size_t at = 0; at < nd; at += g->wide, u += g->wide * ns) {
        const float *both[WIDE] = {y + at, y + at + lanes};

        g->products->grad_weights(d, ns, ns, both, g->nvectors, ntiles, nd, u);
    }
}

/* Channels [first, last) of rows of tiles [from, to). */
static void sum_dy(const struct winograd *g, const struct tensor *dy, size_t from, size_t to,
                   size_t first, size_t last, float *lines, float *sums)
{
    size_t nd = g->dst_channels, area = g->rows->tile * g->width;

    memset(sums + first, 0, (last - first) * sizeof *sums);
    for (; from < to; from++) {
        const float *rows = float_rows_read(dy, from * area * nd, area * nd, lines);

        for (size_t d = first; d < last; d += g->rows->lanes)
            g->products->sum(rows + d, area, nd, sums + d);
    }
}

/* Rows of tiles [from, to) into sums: of the products, then of dy. */
static void sum_chunk(const struct winograd *g, const struct roles *roles, const float *zeros,
                      size_t from, size_t to, float *lines, float *scratch, float *sums)
{
    size_t nd = g->dst_channels, area = g->rows->tile * g->width;
    const struct tensor *dy = roles->dst[0];

    memset(sums, 0, (g->weights + g->bias) * sizeof *sums);
    sum_dy(g, dy, from, to, 0, g->dst_channels, lines, sums + g->weights);
    for (; from < to; from += g->band) {
        struct band b = band_of(g, from, to);

        transform_source(g, roles, zeros, b.from, b.to, lines, scratch);
        transform_dy(g, dy, b.from, b.to, lines, scratch + g->places * g->src_place);
        for (size_t p = 0; p < g->places; p++) {
            for (int k = 0; k < PARTS && roles->src[k]; k++)
                fetch_source(g, roles->src[k], &b, p);
            fetch(g, dy, b.to * area * nd, (b.next - b.to) * area * nd, p);
            add_products(g, p, (b.to - b.from) * g->across, scratch, sums + p * g->place);
        }
    }
}

/* The same of all rows, shared among the threads of the parallel region. */
static void sum_shared(const struct winograd *g, const struct roles *roles, const float *zeros,
                       float *lines, float *scratch, float *sums)
{
    const struct tensor *dy = roles->dst[0];
    size_t ns = g->src_channels, nd = g->dst_channels, nrows = g->nimages * g->down;
    float *y = scratch + g->places * g->src_place;

#pragma omp for schedule(static) nowait
    for (size_t d = 0; d < nd; d += g->rows->lanes)
        sum_dy(g, dy, 0, nrows, d, d + g->rows->lanes, lines, sums + g->weights);
    for (size_t from = 0; from < nrows; from += g->band) {
        size_t n = nrows - from < g->band ? nrows - from : g->band;

#pragma omp for schedule(dynamic)
        for (size_t r = 0; r < n; r++) {
            transform_source(g, roles, zeros, from + r, from + r + 1,
                             lines, scratch + r * g->across * ns);
            transform_dy(g, dy, from + r, from + r + 1, lines, y + r * g->across * nd);
        }
#pragma omp for schedule(dynamic)
        for (size_t p = 0; p < g->places; p++) {
            if (from == 0)
                memset(sums + p * g->place, 0, g->place * sizeof *sums);
            add_products(g, p, n * g->across, scratch, sums + p * g->place);
        }
    }
}

/* Workspace: the sums of all chunks, or one, zeros, scratch for each thread, or one for all, and
 * lines. */
static void sum_weights(struct op *op, const struct batch_norm_map *norm)
{
    const struct winograd *g = op->priv;
    struct roles roles = roles_of(op);
    size_t nrows = g->nimages * g->down, ns = g->src_channels, nd = g->dst_channels;
    size_t size = g->weights + g->bias, window = (size_t)KERNEL * KERNEL, lanes = g->rows->lanes;
    float *sums = op->workspace, *zeros = sums + (g->nchunks ? g->nchunks : 1) * size;
    float *scratch = zeros + g->zeros;
    float *lines = scratch + (g->nchunks ? g->nthreads : 1) * g->scratch;
    float *dw = op->out[0]->data;

    roles.norm = norm;
    memset(zeros, 0, g->zeros * sizeof *zeros);
#pragma omp parallel num_threads(g->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < g->nchunks; i++)
            sum_chunk(g, &roles, zeros, nrows * i / g->nchunks, nrows * (i + 1) / g->nchunks,
                      lines + simd_thread() * g->lines, scratch + simd_thread() * g->scratch,
                      sums + i * size);
        if (g->nchunks)
            conv_rows_add(sums, size, g->nchunks);
        else
            sum_shared(g, &roles, zeros, lines + simd_thread() * g->lines, scratch, sums);
#pragma omp for schedule(static)
        for (size_t d = 0; d < nd; d += lanes)
            for (size_t s = 0; s < ns; s++)
                g->rows->gather(sums + (d / g->wide * g->wide * ns + d % g->wide / lanes * ns * lanes +
                                        s * lanes) * g->rows->group,
                                g->place, ns * window, dw + (d * ns + s) * window);
    }
    if (roles.bias)
        memcpy(roles.bias->data, sums + g->weights, nd * sizeof *sums);
}

static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    sum_weights(op, NULL);
    return 0;
}

void winograd_run_normed_grad_weights(struct op *op, const struct batch_norm_map *norm)
{
    sum_weights(op, norm);
}

static int prepare_forward_as(struct op *op, bool normed, struct err *e)
{
    struct roles roles = roles_of(op);
    struct winograd *g = create(&roles, normed);

    if (!g)
        return err_set(e, ERR_INTERNAL, "out of memory");
    g->moments = norm_moments_of(op, (g->nimages * g->down + g->band - 1) / g->band);
    g->parts = g->weights + g->bias + g->zeros + g->nthreads * (g->scratch + g->lines);
    g->parts = (g->parts + LINE - 1) / LINE * LINE;
    op->workspace_size = g->parts * sizeof(float) + g->moments.nparts * g->moments.size * sizeof(double);
    op->priv = g;
    return 0;
}

static int prepare_grad_weights_as(struct op *op, bool normed, struct err *e)
{
    struct roles roles = roles_of(op);
    struct winograd *g = create(&roles, normed);

    if (!g)
        return err_set(e, ERR_INTERNAL, "out of memory");
    g->nchunks = chunks_of(g);
    if (!g->nchunks)
        set_band(g, g->nimages * g->down * g->across < SHARED_TILES
                        ? g->nimages * g->down * g->across : SHARED_TILES);
    op->workspace_size = ((g->nchunks ? g->nchunks : 1) * (g->weights + g->bias) + g->zeros +
                          (g->nchunks ? g->nthreads : 1) * g->scratch + g->nthreads * g->lines) *
                         sizeof(float);
    op->priv = g;
    return 0;
}

static int prepare_forward(struct op *op, struct err *e)
{
    return prepare_forward_as(op, false, e);
}

static int prepare_grad_weights(struct op *op, struct err *e)
{
    return prepare_grad_weights_as(op, false, e);
}

int winograd_prepare_normed(struct op *op, struct err *e)
{
    return prepare_forward_as(op, true, e);
}

int winograd_prepare_normed_grad_weights(struct op *op, struct err *e)
{
    return prepare_grad_weights_as(op, true, e);
}

static void release(struct op *op)
{
    free(op->priv);
}

#define KERNEL_OF(kind, direction, run) {&kind, supports, prepare_##direction, run, release}

const struct kernel simd_winograd = KERNEL_OF(conv2d_kind, forward, run_conv2d);
const struct kernel simd_winograd_nobias = KERNEL_OF(conv2d_nobias_kind, forward, run_conv2d);
const struct kernel simd_winograd_grad_input = KERNEL_OF(conv2d_grad_input_kind, forward,
                                                         run_grad_input);
const struct kernel simd_winograd_grad_weights = KERNEL_OF(conv2d_grad_weights_kind, grad_weights,
                                                           run_grad_weights);
const struct kernel simd_winograd_nobias_grad_weights =
    KERNEL_OF(conv2d_nobias_grad_weights_kind, grad_weights, run_grad_weights);
const struct kernel simd_winograd_concat = KERNEL_OF(concat_conv2d_kind, forward, run_conv2d);
const struct kernel simd_winograd_concat_grad_input = KERNEL_OF(concat_conv2d_grad_input_kind,
                                                                forward, run_grad_input);
const struct kernel simd_winograd_concat_grad_weights =
    KERNEL_OF(concat_conv2d_grad_weights_kind, grad_weights, run_grad_weights);
