/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions by Winograd's transforms (winograd_rows.h), a band of rows of tiles at a time, so
 * that what is transformed stays in the cache of a core. The products are those of conv_rows.h.
 *
 * The gradient of the input is the same convolution with the window turned by 180 degrees and the
 * roles of the channels changed. The gradient of the weights is summed in chunks of bands whose
 * number does not depend on the threads, and these are added in order; with so many channels that
 * few chunks have room, the threads share the places of one sum instead. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/conv_rows.h"
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
#define WIDE 2                   /* vectors of results computed at once, where there are as many */

/* op->priv; for the gradient of the input, src is dy. */
struct winograd {
    const struct conv_rows *products;
    const struct winograd_rows *rows;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;
    size_t places;
    size_t nvectors, wide;   /* vectors and channels of results computed at once */
    size_t place;            /* floats of a place's weights */
    size_t across, down;     /* tiles of a row; rows of tiles of an image */
    size_t band, ntiles;     /* rows of tiles of a band, of all images counted through; tiles */
    /* Floats from one place to the next of what is transformed: never a multiple of a page, whose
     * lines would all meet in the same few of the cache. */
    size_t src_place, dst_place;
    size_t nthreads, nchunks; /* no chunks: the threads share places */
    size_t weights, scratch; /* floats: transformed weights, with a bias when they are summed; of
                              * one thread */
    size_t bias, zeros;
};

static bool supports(const struct op *op, const struct tensor *src, const struct tensor *dst)
{
    size_t height = (size_t)src->shape.dim[DIM_H], width = (size_t)src->shape.dim[DIM_W];
    size_t ns = tensor_channels(src), nd = tensor_channels(dst);
    const struct winograd_rows *rows = winograd_rows_best(height, width, ns, nd);
    size_t pixels = (size_t)src->shape.dim[DIM_N] * height * width;

    return rows && op->attr.kernel == KERNEL && op->attr.stride <= 1 && ns * nd <= MAX_WEIGHTS &&
           pixels >= MIN_TILES * rows->tile * rows->tile;
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

static struct winograd *create(const struct tensor *src, const struct tensor *dst)
{
    struct winograd *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->nimages = (size_t)src->shape.dim[DIM_N];
    g->height = (size_t)src->shape.dim[DIM_H];
    g->width = (size_t)src->shape.dim[DIM_W];
    g->src_channels = tensor_channels(src);
    g->dst_channels = tensor_channels(dst);
    g->rows = winograd_rows_best(g->height, g->width, g->src_channels, g->dst_channels);
    g->places = g->rows->side * g->rows->side;
    g->products = conv_rows_find(g->rows->lanes);
    g->nvectors = !g->rows->forward && g->dst_channels % (WIDE * g->rows->lanes) == 0 ? WIDE : 1;
    g->wide = g->nvectors * g->rows->lanes;
    g->place = g->src_channels * g->dst_channels * g->rows->group;
    g->across = g->width / g->rows->tile;
    g->down = g->height / g->rows->tile;
    g->nthreads = simd_threads();
    g->weights = g->places * g->place;
    set_band(g, BAND_TILES);
    g->bias = (g->dst_channels + LINE - 1) / LINE * LINE;
    g->zeros = g->width * (g->src_channels > g->dst_channels ? g->src_channels : g->dst_channels);
    g->zeros = (g->zeros + LINE - 1) / LINE * LINE;
    return g;
}

/* The rows of pixels under row of tiles r, counted through all images, from its first on. */
static void source_rows(const struct winograd *g, const float *src, const float *zeros, size_t r,
                        const float **rows)
{
    size_t line = g->width * g->src_channels;

    for (size_t i = 0; i < g->rows->side; i++) {
        size_t y = g->rows->tile * (r % g->down) + i - 1; /* wraps: too large as well */

        rows[i] = y < g->height ? src + (r / g->down * g->height + y) * line : zeros;
    }
}

/* Rows of tiles [from, to) to scratch. */
static void transform_source(const struct winograd *g, const float *src, const float *zeros,
                             size_t from, size_t to, float *d)
{
    const float *rows[WINOGRAD_SIDE];
    size_t ns = g->src_channels;

    for (size_t r = from; r < to; r++, d += g->across * ns) {
        source_rows(g, src, zeros, r, rows);
        g->rows->source(rows, g->width, ns, g->src_place, d);
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

static void multiply(const struct winograd *g, const float *packed, const float *zeros,
                     size_t ntiles, const float *d, float *m)
{
    size_t ns = g->src_channels, nd = g->dst_channels;

    for (size_t p = 0; p < g->places; p++, d += g->src_place, m += g->dst_place, packed += g->place)
        if (g->rows->forward)
            g->rows->forward(d, packed, ns, nd, ntiles / g->rows->group, m);
        else
            for (size_t at = 0; at < nd; at += g->wide)
                g->products->forward(&d, 1, ns, ns, packed + at * ns, zeros, ntiles, nd,
                                     g->nvectors, m + at);
}

/* Rows of tiles [from, to). */
static void correlate_band(const struct winograd *g, const float *src, const float *packed,
                           const float *bias, const float *zeros, size_t from, size_t to,
                           float *scratch, float *dst)
{
    size_t nd = g->dst_channels, tile = g->rows->tile, line = g->width * nd;
    float *m = scratch + g->places * g->src_place;

    transform_source(g, src, zeros, from, to, scratch);
    multiply(g, packed, zeros, (to - from) * g->across, scratch, m);
    for (size_t r = from; r < to; r++, m += g->across * nd) {
        float *rows[WINOGRAD_SIDE];

        for (size_t i = 0; i < tile; i++)
            rows[i] = dst + (r * tile + i) * line;
        g->rows->result(m, g->dst_place, g->width, nd, bias, rows);
    }
}

/* Workspace: weights, bias, zeros, scratch for each thread. */
static void correlate(const struct op *op, const float *bias, bool turned)
{
    const struct winograd *g = op->priv;
    size_t nrows = g->nimages * g->down, nd = g->dst_channels;
    float *packed = op->workspace, *copy = packed + g->weights, *zeros = copy + g->bias;
    float *scratch = zeros + g->zeros;
    const float *src = op->in[0]->data, *w = op->in[1]->data;
    float *dst = op->out[0]->data;

    memset(zeros, 0, g->zeros * sizeof *zeros);
    memset(copy, 0, nd * sizeof *copy);
    if (bias)
        memcpy(copy, bias, nd * sizeof *copy);
#pragma omp parallel num_threads(g->nthreads)
    {
        pack(g, w, turned, packed);
#pragma omp for schedule(dynamic)
        for (size_t from = 0; from < nrows; from += g->band)
            correlate_band(g, src, packed, copy, zeros, from,
                           from + g->band < nrows ? from + g->band : nrows,
                           scratch + simd_thread() * g->scratch, dst);
    }
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, op->kind->nin > 2 ? op->in[2]->data : NULL, false);
    return 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, NULL, true);
    return 0;
}

/* Rows of tiles [from, to) of dy to scratch. */
static void transform_dy(const struct winograd *g, const float *dy, size_t from, size_t to, float *y)
{
    size_t nd = g->dst_channels, tile = g->rows->tile;
    const float *rows[WINOGRAD_SIDE];

    for (size_t r = from; r < to; r++, y += g->across * nd) {
        for (size_t i = 0; i < tile; i++)
            rows[i] = dy + (r * tile + i) * g->width * nd;
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

/* Rows of tiles [from, to) into sums: of the products, then of dy. */
static void sum_chunk(const struct winograd *g, const float *src, const float *dy,
                      const float *zeros, size_t from, size_t to, float *scratch, float *sums)
{
    size_t nd = g->dst_channels, area = g->rows->tile * g->width;

    memset(sums, 0, (g->weights + g->bias) * sizeof *sums);
    for (size_t d = 0; d < nd; d += g->rows->lanes)
        g->products->sum(dy + from * area * nd + d, (to - from) * area, nd, sums + g->weights + d);
    for (; from < to; from += g->band) {
        size_t n = to - from < g->band ? to - from : g->band;

        transform_source(g, src, zeros, from, from + n, scratch);
        transform_dy(g, dy, from, from + n, scratch + g->places * g->src_place);
        for (size_t p = 0; p < g->places; p++)
            add_products(g, p, n * g->across, scratch, sums + p * g->place);
    }
}

/* The same of all rows, shared among the threads of the parallel region. */
static void sum_shared(const struct winograd *g, const float *src, const float *dy,
                       const float *zeros, float *scratch, float *sums)
{
    size_t ns = g->src_channels, nd = g->dst_channels, nrows = g->nimages * g->down;
    float *y = scratch + g->places * g->src_place;

#pragma omp for schedule(static) nowait
    for (size_t d = 0; d < nd; d += g->rows->lanes) {
        memset(sums + g->weights + d, 0, g->rows->lanes * sizeof *sums);
        g->products->sum(dy + d, g->nimages * g->height * g->width, nd, sums + g->weights + d);
    }
    for (size_t from = 0; from < nrows; from += g->band) {
        size_t n = nrows - from < g->band ? nrows - from : g->band;

#pragma omp for schedule(dynamic)
        for (size_t r = 0; r < n; r++) {
            transform_source(g, src, zeros, from + r, from + r + 1, scratch + r * g->across * ns);
            transform_dy(g, dy, from + r, from + r + 1, y + r * g->across * nd);
        }
#pragma omp for schedule(dynamic)
        for (size_t p = 0; p < g->places; p++) {
            if (from == 0)
                memset(sums + p * g->place, 0, g->place * sizeof *sums);
            add_products(g, p, n * g->across, scratch, sums + p * g->place);
        }
    }
}

/* Workspace: the sums of all chunks, or one, zeros, scratch for each thread, or one for all. */
static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct winograd *g = op->priv;
    const float *dy = op->in[0]->data, *src = op->in[1]->data;
    size_t nrows = g->nimages * g->down, ns = g->src_channels, nd = g->dst_channels;
    size_t size = g->weights + g->bias, window = (size_t)KERNEL * KERNEL, lanes = g->rows->lanes;
    float *sums = op->workspace, *zeros = sums + (g->nchunks ? g->nchunks : 1) * size;
    float *scratch = zeros + g->zeros;
    float *dw = op->out[0]->data;

    (void)x;
    (void)e;
    memset(zeros, 0, g->zeros * sizeof *zeros);
#pragma omp parallel num_threads(g->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < g->nchunks; i++)
            sum_chunk(g, src, dy, zeros, nrows * i / g->nchunks, nrows * (i + 1) / g->nchunks,
                      scratch + simd_thread() * g->scratch, sums + i * size);
        if (g->nchunks)
            conv_rows_add(sums, size, g->nchunks);
        else
            sum_shared(g, src, dy, zeros, scratch, sums);
#pragma omp for schedule(static)
        for (size_t d = 0; d < nd; d += lanes)
            for (size_t s = 0; s < ns; s++)
                g->rows->gather(sums + (d / g->wide * g->wide * ns + d % g->wide / lanes * ns * lanes +
                                        s * lanes) * g->rows->group,
                                g->place, ns * window, dw + (d * ns + s) * window);
    }
    if (op->kind->nout > 1)
        memcpy(op->out[1]->data, sums + g->weights, nd * sizeof *sums);
    return 0;
}

static bool supports_forward(const struct op *op)
{
    return supports(op, op->in[0], op->out[0]);
}

static bool supports_grad_weights(const struct op *op)
{
    return supports(op, op->in[1], op->in[0]);
}

static int prepare_forward(struct op *op, struct err *e)
{
    struct winograd *g = create(op->in[0], op->out[0]);

    if (!g)
        return err_set(e, ERR_INTERNAL, "out of memory");
    op->workspace_size = (g->weights + g->bias + g->zeros + g->nthreads * g->scratch) *
                         sizeof(float);
    op->priv = g;
    return 0;
}

static int prepare_grad_weights(struct op *op, struct err *e)
{
    struct winograd *g = create(op->in[1], op->in[0]);

    if (!g)
        return err_set(e, ERR_INTERNAL, "out of memory");
    g->nchunks = chunks_of(g);
    if (!g->nchunks)
        set_band(g, g->nimages * g->down * g->across < SHARED_TILES
                        ? g->nimages * g->down * g->across : SHARED_TILES);
    op->workspace_size = ((g->nchunks ? g->nchunks : 1) * (g->weights + g->bias) + g->zeros +
                          (g->nchunks ? g->nthreads : 1) * g->scratch) * sizeof(float);
    op->priv = g;
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

const struct kernel simd_winograd = {&conv2d_kind, supports_forward, prepare_forward, run_conv2d,
                                     release};
const struct kernel simd_winograd_nobias = {&conv2d_nobias_kind, supports_forward, prepare_forward,
                                            run_conv2d, release};
const struct kernel simd_winograd_grad_input = {&conv2d_grad_input_kind, supports_forward,
                                                prepare_forward, run_grad_input, release};
const struct kernel simd_winograd_grad_weights = {&conv2d_grad_weights_kind, supports_grad_weights,
                                                  prepare_grad_weights, run_grad_weights, release};
const struct kernel simd_winograd_nobias_grad_weights = {
    &conv2d_nobias_grad_weights_kind, supports_grad_weights, prepare_grad_weights, run_grad_weights,
    release};
