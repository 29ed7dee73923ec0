/* SPDX-License-Identifier: BSD-3-Clause */
/* What all convolutions by Winograd's transforms share: how the work is cut into bands, and how the
 * source is read and transformed. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include "trainer/backends/cpu/isa/simd.h"

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
           ns * nd <= MAX_WEIGHTS && tensor_pixels(r.src) >= MIN_TILES * rows->tile * rows->tile;
}

void winograd_set_band(struct winograd *g, size_t tiles, bool whole)
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

void winograd_transform_source(const struct winograd *g, const struct tensor *src,
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
