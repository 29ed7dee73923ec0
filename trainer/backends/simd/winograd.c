/* SPDX-License-Identifier: BSD-3-Clause */
/* What the convolutions by Winograd's transforms have in common: how the work is cut, and the source. */
#include "config.h"
#include "trainer/backends/simd/winograd.h"

#include <stdlib.h>

#include "trainer/backends/simd/simd.h"

#define BAND_TILES 32         /* of a band, about */
#define MIN_TILES 16          /* of all images: fewer would not pay for the weights' transform */
#define MAX_WEIGHTS (1 << 20) /* of a place */
#define RUNS 8                /* of bands, for each thread at least, where there are as many */
#define MAX_RUN 8

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

bool winograd_supports(const struct op *op)
{
    struct roles r = roles_of(op);
    const struct winograd_rows *rows = rows_of(&r);
    size_t ns = roles_channels(r.src), nd = roles_channels(r.dst), pixels = tensor_pixels(r.src[0]);

    return rows && float_rows_support(op) && raw_norm_support(op) && norm_moments_support(op, DTYPE_F32) &&
           op->attr.kernel == WINOGRAD_KERNEL && op->attr.stride <= 1 && ns * nd <= MAX_WEIGHTS &&
           pixels >= MIN_TILES * rows->tile * rows->tile;
}

void winograd_set_band(struct winograd *g, size_t tiles)
{
    g->band = g->across < tiles ? tiles / g->across : 1;
    g->ntiles = g->band * g->across;
    g->src_place = g->ntiles * g->src_channels + WINOGRAD_LINE;
    g->dst_place = g->ntiles * g->dst_channels + WINOGRAD_LINE;
    g->scratch = g->places * (g->src_place + g->dst_place);
}

struct winograd winograd_of(const struct roles *r, bool normed)
{
    struct winograd whole = {0}, *g = &whole;

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
    g->nvectors = !g->rows->forward && g->dst_channels % (WINOGRAD_WIDE * g->rows->lanes) == 0 ? WINOGRAD_WIDE : 1;
    g->wide = g->nvectors * g->rows->lanes;
    g->place = g->src_channels * g->dst_channels * g->rows->group;
    g->across = g->width / g->rows->tile;
    g->down = g->height / g->rows->tile;
    g->nthreads = simd_threads();
    g->weights = g->places * g->place;
    winograd_set_band(g, BAND_TILES);
    g->run = g->nimages * g->down / g->band / (RUNS * g->nthreads);
    g->run = g->run < 1 ? 1 : g->run < MAX_RUN ? g->run : MAX_RUN;
    g->bias = (g->dst_channels + WINOGRAD_LINE - 1) / WINOGRAD_LINE * WINOGRAD_LINE;
    g->zeros = g->width * (g->src_channels > g->dst_channels ? g->src_channels : g->dst_channels);
    g->zeros = (g->zeros + WINOGRAD_LINE - 1) / WINOGRAD_LINE * WINOGRAD_LINE;
    return whole;
}

struct winograd *winograd_create(const struct roles *r, bool normed)
{
    struct winograd *g = malloc(sizeof *g);

    if (g)
        *g = winograd_of(r, normed);
    return g;
}

static const float *read_source(const struct roles *roles, size_t part, size_t at, size_t n, float *copy)
{
    const float *row = float_rows_read(roles->src[part], at, n, copy);

    if (!roles->norm[part])
        return row;
    batch_norm_apply(roles->norm[part], row, n, copy);
    return copy;
}

size_t winograd_first_new(const struct winograd *g, size_t r)
{
    return r % g->down == 0 ? 0 : g->rows->side - g->rows->tile;
}

/* The rows of pixels under row of tiles r, counted through all images, from its first on. Copies of rows
 * before row `first` of them are there. */
static void source_rows(const struct winograd *g, const struct roles *roles, int part, const float *zeros,
                        size_t r, size_t first, float *lines, const float **rows)
{
    size_t line = g->width * g->src_part[part];

    for (size_t i = 0; i < g->rows->side; i++) {
        size_t y = g->rows->tile * (r % g->down) + i - 1; /* wraps: too large as well */
        float *copy = winograd_copy(g, lines, r, i, line);

        rows[i] = y >= g->height ? zeros
                  : i < first    ? copy
                                 : read_source(roles, part, (r / g->down * g->height + y) * line, line, copy);
    }
}

void winograd_transform_source(const struct winograd *g, const struct roles *roles, const float *zeros,
                               size_t from, size_t to, bool goes_on, float *lines, float *d)
{
    const float *rows[WINOGRAD_SIDE];
    size_t ns = g->src_channels;

    for (size_t r = from; r < to; r++, d += g->across * ns) {
        size_t first = goes_on || r > from ? winograd_first_new(g, r) : 0, at = 0;

        for (int k = 0; k < PARTS && roles->src[k]; at += g->src_part[k++]) {
            /* Only one part has a norm, so nobody else's copies are there. */
            source_rows(g, roles, k, zeros, r, roles->norm[k] ? first : 0, lines, rows);
            g->rows->source(rows, g->width, g->src_part[k], ns, g->src_place,
                            d + at * g->rows->group);
        }
    }
}

void winograd_spread_source(const struct winograd *g, const struct roles *roles, size_t from, size_t to,
                            float *lines, float *d)
{
    size_t ns = g->src_channels, tile = g->rows->tile;
    const float *rows[WINOGRAD_SIDE];

    for (size_t r = from; r < to; r++, d += g->across * ns)
        for (size_t k = 0, at = 0; k < PARTS && roles->src[k]; at += g->src_part[k++]) {
            size_t line = g->width * g->src_part[k];

            for (size_t i = 0; i < tile; i++)
                rows[i] = read_source(roles, k, (r * tile + i) * line, line, lines + i * line);
            g->rows->spread(rows, g->width, g->src_part[k], ns, g->src_place, d + at * g->rows->group);
        }
}

void winograd_release(struct op *op)
{
    free(op->priv);
}

struct winograd_band winograd_band_of(const struct winograd *g, size_t from, size_t end)
{
    size_t to = from + g->band < end ? from + g->band : end;

    return (struct winograd_band){from, to, to + g->band < end ? to + g->band : end};
}

void winograd_fetch(const struct winograd *g, const struct tensor *t, size_t at, size_t n, size_t p)
{
    size_t from = n * p / g->places, to = n * (p + 1) / g->places;

    float_rows_fetch(t, at + from, to - from);
}

void winograd_fetch_source(const struct winograd *g, const struct tensor *t, const struct winograd_band *b,
                           size_t p)
{
    size_t line = g->width * tensor_channels(t), last = g->nimages * g->height;
    size_t from = b->to * g->rows->tile + 1, to = b->next * g->rows->tile + 1;

    if (b->to < b->next)
        winograd_fetch(g, t, from * line, ((to < last ? to : last) - from) * line, p);
}
