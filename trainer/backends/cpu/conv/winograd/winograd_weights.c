/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the weights of 3x3 convolutions by Winograd's transforms. A chunk of bands has
 * its own sums; the number of chunks does not depend on the number of threads, and their sums are
 * added in order. If there would be fewer than MIN_CHUNKS, because their sums need too much memory
 * or there are few tiles, all threads share one sum, each with places of its own. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include <string.h>

#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"

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
