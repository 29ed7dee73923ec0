/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions by Winograd's transforms (winograd_rows.h). A thread processes a band of rows of
 * tiles, or a section of one long row, so that what is transformed stays in its cache; the products
 * are those of conv_rows.h. The results come first, then each gradient alone, and both in one
 * pass. */
#include "src/base.h"
#include "trainer/backends/cpu/winograd_rows.h"

#include "trainer/backends/cpu/conv_rows.h"
#include "trainer/backends/cpu/simd.h"

/* The operands of a convolution or of one of its gradients by their role: src * weights + bias =
 * dst. For the gradient of the input src is dy; for that of the weights dst is dy, and weights and
 * bias are where the gradients go. The graph owns all of them. */
struct conv_operands {
    const struct tensor *src, *dst, *weights, *bias; /* bias may be NULL */
};

#define WINOGRAD_LINE 16 /* floats of a cache line; the sections of scratch begin with one */

/* op->priv of these kernels, freed by simd_release: one convolution and how it is cut. For the
 * gradient of the input src is dy. A place is one of the side x side elements of a transformed
 * tile. */
struct winograd {
    const struct conv_rows *products;
    const struct winograd_rows *rows;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;
    size_t places;
    size_t nvectors, wide;   /* vectors, and channels, of results computed at once */
    size_t across, down;     /* tiles of a row; rows of tiles of an image */
    size_t band;             /* rows of tiles of a band, counted over all images */
    /* Pixels of a row that are computed at once: all, or, in bands of one row of tiles, fewer; and
     * the number of tiles. */
    size_t section, ntiles;
    /* Floats from one place to the next of the transformed weights, source and results. A cache
     * line is added to the values, because distances that are multiples of a page would make all
     * places share a few sets of the cache. */
    size_t place, src_place, dst_place;
    size_t nthreads, nchunks; /* nchunks: chunks of the weights' gradient; 0: threads share one sum,
                               * each with places of its own */
    size_t run;              /* consecutive bands that a thread takes */
    size_t weights, scratch; /* floats: the transformed weights, or the sums of their gradients;
                              * scratch of one thread */
    size_t bias, zeros;      /* floats of the bias; of a row of zeros */
    bool relu;               /* a ReLU is applied to the results */
};

/* A band in rows of tiles, counted over all images: [from, to), and the end of the next band; and
 * the section of its rows that is computed now, in pixels. */
struct winograd_band {
    size_t from, to, next;
    size_t x, width;
};

#define WINOGRAD_KERNEL 3

#define WINOGRAD_WIDE 2  /* vectors of results computed at once, if their number is even */

/* Of a conv2d_grad, which has both gradients, it returns the operands of the input's. */
static struct conv_operands conv_operands_of(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;

    if (op->kind == &conv2d_grad_weights_kind)
        return (struct conv_operands){in[1], in[0], out[0], out[1]};
    if (op->kind == &conv2d_grad_kind)
        return (struct conv_operands){in[0], out[0], in[1], NULL};
    return (struct conv_operands){in[0], out[0], in[1], in[2]};
}

/* Of a conv2d_grad those of the weights'. */
static struct conv_operands conv_operands_weights_grad(const struct op *op)
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

/* Returns the transforms for an image and its channels and the instruction set of simd_isa(), or
 * NULL. */
static const struct winograd_rows *rows_of(const struct conv_operands *r)
{
    size_t height = (size_t)r->src->shape.dim[DIM_H], width = (size_t)r->src->shape.dim[DIM_W];
    size_t ns = tensor_channels(r->src), nd = tensor_channels(r->dst);
    const struct winograd_rows *rows = NULL;

#ifdef __x86_64__
    const struct winograd_rows *pairs = &winograd_pairs_avx512;
    enum simd_isa isa = simd_isa();

    rows = isa == SIMD_AVX512 ? winograd_rows_avx512 : isa == SIMD_AVX2 ? winograd_rows_avx2 : NULL;
    if (isa == SIMD_AVX512 && (ns % rows->lanes || nd % rows->lanes))
        return ns % pairs->lanes || nd % pairs->lanes || height % pairs->tile ||
               width % (pairs->group * pairs->tile) ? NULL : pairs;
#endif
    for (int i = 0; rows && i < 2; i++)
        if (ns % rows[i].lanes == 0 && nd % rows[i].lanes == 0 && height % rows[i].tile == 0 &&
            width % rows[i].tile == 0)
            return &rows[i];
    return NULL;
}

static bool winograd_supports(const struct op *op)
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

/* Returns how a convolution is cut. */
static struct winograd winograd_of(const struct conv_operands *r)
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
    g->bias = round_up(g->dst_channels, WINOGRAD_LINE);
    g->zeros = g->width * (g->src_channels > g->dst_channels ? g->src_channels : g->dst_channels);
    g->zeros = round_up(g->zeros, WINOGRAD_LINE);
    return whole;
}

/* Returns the number of tiles of a section. */
static inline size_t winograd_band_tiles(const struct winograd *g, const struct winograd_band *b)
{
    return (b->to - b->from) * (b->width / g->rows->tile);
}

/* Returns on which sides a section has neighbours (rows->source). */
static inline unsigned winograd_band_beside(const struct winograd *g, const struct winograd_band *b)
{
    return (b->x > 0 ? WINOGRAD_LEFT : 0) | (b->x + b->width < g->width ? WINOGRAD_RIGHT : 0);
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

/* Transforms the pixels of a section of t, without those around them, as gradients are (spread in
 * winograd_rows.h), to scratch y, whose places are `place` floats apart. */
static void winograd_spread(const struct winograd *g, const struct tensor *t,
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

/* Returns the first section of the band that begins with row of tiles `from` and ends before
 * `end`. */
static struct winograd_band winograd_band_of(const struct winograd *g, size_t from, size_t end)
{
    size_t to = from + g->band < end ? from + g->band : end;

    return (struct winograd_band){from, to, to + g->band < end ? to + g->band : end, 0, g->section};
}

/* Moves to the next section of the band; b->x is then g->width if there is none. */
static void winograd_band_on(const struct winograd *g, struct winograd_band *b)
{
    b->x += b->width;
    if (g->width - b->x < b->width)
        b->width = g->width - b->x;
}

/* Prefetches a share of n values of t from value `at` on, to be called with the products of place p
 * of a section. Without any prefetching a third of the time is spent waiting for memory. */
static void winograd_fetch(const struct winograd *g, const struct tensor *t, size_t at, size_t n,
                           const struct winograd_band *b, size_t p)
{
    size_t done = b->x * g->places + p * b->width, all = g->width * g->places;
    size_t from = n * done / all, to = n * (done + b->width) / all;

    simd_fetch(t->data + at + from, to - from);
}

/* Prefetches a share of the rows of pixels that the next band reads and this one does not: from the
 * second row of its tiles to the row below them. */
static void winograd_fetch_source(const struct winograd *g, const struct tensor *t,
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

/* Returns the number of chunks that have their own sums; 0: all threads share one sum. */
static size_t winograd_weights_chunks(const struct winograd *g)
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

/* Adds to place p of u[g->weights] the products of the transformed source d and gradient y; all
 * point to place 0. */
static void winograd_weights_add(const struct winograd *g, size_t p, size_t ntiles, const float *d,
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

/* Writes dw from the sums. turned: the source was transformed as gradients are, and the gradient as
 * a source is. Shares the work among the threads of the parallel region. */
static void winograd_weights_gather(const struct winograd *g, const float *sums, bool turned,
                                    float *dw)
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

/* Transforms and packs the weights to packed[place][block of d][s][d], for source channels s and
 * result channels d; turned: for the gradient of the input. Shares the work among the threads of
 * the parallel region. */
static void winograd_conv_pack(const struct winograd *g, const float *w, bool turned, float *packed)
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

/* Prefetches a share of the results that a band writes (winograd_fetch). */
static void winograd_conv_fetch(const struct winograd *g, const struct tensor *t,
                                const struct winograd_band *b, size_t p)
{
    size_t line = g->rows->tile * g->width * tensor_channels(t);

    winograd_fetch(g, t, b->from * line, (b->to - b->from) * line, b, p);
}

/* Computes m = d weights for place p; d, m and packed point to place 0. */
static void winograd_conv_multiply(const struct winograd *g, size_t p, const float *packed,
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

/* Writes a section of a band of results from its products m. bias[dst_channels] */
static void winograd_conv_write(const struct winograd *g, const struct tensor *dst, const float *m,
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

/* Both gradients of a 3x3 convolution in one pass. The gradient of the result is
 * transformed once for both; so for the weights' gradient the source is transformed as gradients
 * are.
 *
 * The gradient of the input may take the memory of the result's gradient. Then rows are copied
 * before they are overwritten: neighbouring rows of tiles share copies, and each chunk begins with
 * copies of the rows next to it. */

/* op->priv: the gradients of the input and of the weights. */
struct winograd_grad {
    struct winograd in, w;
    /* Floats: copied rows of the gradient; rows of the gradient above and below a chunk. */
    size_t rows, edges;
};

static struct winograd_grad winograd_grad_of(const struct op *op)
{
    struct conv_operands in = conv_operands_of(op), w = conv_operands_weights_grad(op);
    struct winograd_grad b = {.in = winograd_of(&in), .w = winograd_of(&w)};

    b.w.nchunks = winograd_weights_chunks(&b.w);
    b.rows = round_up(b.in.rows->side * b.in.width * b.in.src_channels, WINOGRAD_LINE);
    b.edges = round_up(2 * b.in.width * b.in.src_channels, WINOGRAD_LINE);
    return b;
}

static bool winograd_grad_supports(const struct op *op)
{
    if (!winograd_supports(op))
        return false;
    struct winograd_grad b = winograd_grad_of(op);
    return b.w.nchunks > 0 && b.in.band == b.w.band;
}

/* The pointers into the workspace during one run. */
struct winograd_grad_workspace {
    const struct winograd_grad *b;
    struct conv_operands in, w;
    bool in_place; /* dx has the memory of dy */
    float *packed, *no_bias, *zeros, *sums, *edges, *rooms;
};

static struct winograd_grad_workspace winograd_grad_workspace_of(const struct op *op,
                                                                 const struct winograd_grad *b,
                                                                 struct simd_workspace *w)
{
    return (struct winograd_grad_workspace){
        .b = b,
        .in = conv_operands_of(op),
        .w = conv_operands_weights_grad(op),
        .packed = simd_take(w, b->in.weights, sizeof(float)),
        .no_bias = simd_take(w, b->in.bias, sizeof(float)),
        .zeros = simd_take(w, b->in.zeros, sizeof(float)),
        .sums = simd_take(w, b->w.nchunks * (b->w.weights + b->w.bias), sizeof(float)),
        .edges = simd_take(w, b->w.nchunks * b->edges, sizeof(float)),
        .rooms = simd_take(w, b->w.nthreads * (b->in.scratch + b->rows), sizeof(float)),
    };
}

static int winograd_grad_prepare(struct op *op, struct err *e)
{
    struct winograd_grad b = winograd_grad_of(op);
    struct simd_workspace w = {0};

    winograd_grad_workspace_of(op, &b, &w);
    op->workspace_size = w.size;
    op->inplace = true;
    return simd_keep(op, &b, sizeof b, e);
}

/* One thread's scratch. */
struct room {
    float *gradient, *results; /* transformed gradient; results of the input, then the transformed
                                * source */
    float *rows;
};

static struct room room_of(const struct winograd_grad_workspace *p, size_t thread)
{
    const struct winograd_grad *b = p->b;
    float *from = p->rooms + thread * (b->in.scratch + b->rows);

    return (struct room){from, from + b->in.places * b->in.src_place, from + b->in.scratch};
}

/* Rows of tiles [begin, end), and copies of the rows of pixels above and below them, if these are
 * in the same image. */
struct chunk {
    size_t begin, end;
    float *above, *below;
};

static struct chunk chunk_of(const struct winograd_grad_workspace *p, size_t i)
{
    const struct winograd *g = &p->b->w;
    size_t nrows = g->nimages * g->down;
    float *edges = p->edges + i * p->b->edges;

    return (struct chunk){nrows * i / g->nchunks, nrows * (i + 1) / g->nchunks, edges,
                          edges + p->b->edges / 2};
}

/* Copies the rows that a chunk reads from its neighbours, before any thread writes. */
static void copy_edges(const struct winograd_grad_workspace *p, size_t i)
{
    const struct winograd *g = &p->b->in;
    size_t line = g->width * g->src_channels, tile = g->rows->tile;
    struct chunk c = chunk_of(p, i);

    if (c.begin % g->down)
        memcpy(c.above, p->in.src->data + (c.begin * tile - 1) * line, line * sizeof(float));
    if (c.end % g->down)
        memcpy(c.below, p->in.src->data + c.end * tile * line, line * sizeof(float));
}

/* Returns row i, from 0 to side - 1, of the rows of the gradient that row of tiles r of a chunk
 * reads; row 0 is the one above the tiles. x > 0: this is not the first section of the band, and a
 * row that needs a copy has been copied already. */
static const float *gradient_row(const struct winograd_grad_workspace *p, const struct room *room,
                                 const struct chunk *c, size_t x, size_t r, size_t i)
{
    const struct winograd *g = &p->b->in;
    size_t line = g->width * g->src_channels;
    size_t y = g->rows->tile * (r % g->down) + i - 1; /* -1 wraps to a large number, too */
    const float *row = p->in.src->data + (r / g->down * g->height + y) * line;
    float *copy = room->rows + (g->rows->tile * r + i) % g->rows->side * line;
    /* Row of tiles r - 1, which was computed last, has read it, too. */
    bool copied = r > c->begin && r % g->down && i < g->rows->side - g->rows->tile;

    if (y >= g->height)
        return p->zeros;
    if (!p->in_place)
        return row;
    if (r == c->begin && i == 0)
        return c->above;
    if (r + 1 == c->end && i + 1 == g->rows->side)
        return c->below;
    if (x == 0 && !copied)
        memcpy(copy, row, line * sizeof *copy);
    return copy;
}

/* Transforms row of tiles r of a band of the gradient, and adds the rows to the bias's sum. */
static void winograd_grad_read_gradient(const struct winograd_grad_workspace *p,
                                        const struct room *room, const struct chunk *c,
                                        const struct winograd_band *b, size_t r, float *sum)
{
    const struct winograd *g = &p->b->in;
    size_t n = g->src_channels, at = (r - b->from) * (b->width / g->rows->tile) * n;
    const float *rows[WINOGRAD_SIDE];

    for (size_t i = 0; i < g->rows->side; i++)
        rows[i] = gradient_row(p, room, c, b->x, r, i) + b->x * n;
    g->rows->source(rows, b->width, n, winograd_band_beside(g, b), g->src_place,
                    room->gradient + at);
    for (size_t i = 1; p->w.bias && i <= g->rows->tile; i++)
        for (size_t k = 0; k < n; k += g->rows->lanes)
            g->products->sum(rows[i] + k, b->width, n, sum + k);
}

static void winograd_grad_write_input(const struct winograd_grad_workspace *p,
                                      const struct room *room, const struct winograd_band *b)
{
    const struct winograd *g = &p->b->in;

    for (size_t i = 0; i < g->places; i++) {
        winograd_fetch_source(g, p->in.src, b, i);
        winograd_conv_fetch(g, p->in.dst, b, i);
        winograd_conv_multiply(g, i, p->packed, p->zeros, winograd_band_tiles(g, b), room->gradient,
                               room->results);
    }
    winograd_conv_write(g, p->in.dst, room->results, p->no_bias, b);
}

static void winograd_grad_add_weights(const struct winograd_grad_workspace *p,
                                      const struct room *room, const struct winograd_band *b,
                                      float *sums)
{
    const struct winograd *g = &p->b->w;
    size_t line = g->rows->tile * g->width * g->src_channels;

    winograd_spread(g, p->w.src, b, g->src_place, room->results);
    for (size_t i = 0; i < g->places; i++) {
        winograd_fetch(g, p->w.src, b->to * line, (b->next - b->to) * line, b, i);
        winograd_weights_add(g, i, winograd_band_tiles(g, b), room->results, room->gradient, sums);
    }
}

static void winograd_grad_run_chunk(const struct winograd_grad_workspace *p,
                                    const struct room *room, size_t i)
{
    const struct winograd *g = &p->b->w;
    size_t size = g->weights + g->bias;
    struct chunk c = chunk_of(p, i);
    float *sums = p->sums + i * size;

    memset(sums, 0, size * sizeof *sums);
    for (size_t from = c.begin; from < c.end; from += g->band) {
        struct winograd_band b = winograd_band_of(g, from, c.end);

        for (; b.x < g->width; winograd_band_on(g, &b)) {
            for (size_t r = b.from; r < b.to; r++)
                winograd_grad_read_gradient(p, room, &c, &b, r, sums + g->weights);
            winograd_grad_write_input(p, room, &b);
            winograd_grad_add_weights(p, room, &b, sums);
        }
    }
}

static int winograd_grad_run(struct op *op, struct exec *x, struct err *e)
{
    const struct winograd_grad *b = op->priv;
    struct winograd_grad_workspace p =
        winograd_grad_workspace_of(op, b, &(struct simd_workspace){op->workspace, 0});
    size_t size = b->w.weights + b->w.bias;

    p.in_place = op->out[0]->data == op->in[0]->data;
    memset(p.no_bias, 0, b->in.bias * sizeof *p.no_bias);
    memset(p.zeros, 0, b->in.zeros * sizeof *p.zeros);
#pragma omp parallel num_threads(b->w.nthreads)
    {
        struct room room = room_of(&p, simd_thread());

        winograd_conv_pack(&b->in, p.in.weights->data, true, p.packed);
#pragma omp for schedule(static)
        for (size_t i = 0; i < (p.in_place ? b->w.nchunks : 0); i++)
            copy_edges(&p, i);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < b->w.nchunks; i++)
            winograd_grad_run_chunk(&p, &room, i);
        conv_rows_add(p.sums, size, b->w.nchunks);
        winograd_weights_gather(&b->w, p.sums, true, p.w.weights->data);
    }
    if (p.w.bias)
        memcpy(p.w.bias->data, p.sums + b->w.weights, b->w.dst_channels * sizeof *p.sums);
    return 0;
}

const struct kernel simd_winograd_grad = {
    .kind = &conv2d_grad_kind, .supports = winograd_grad_supports,
    .prepare = winograd_grad_prepare, .run = winograd_grad_run, .release = simd_release};
