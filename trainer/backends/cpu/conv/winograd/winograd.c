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

static size_t largest_channels(const struct tensor *const *tensors)
{
    size_t a = tensor_channels(tensors[0]), b = tensors[1] ? tensor_channels(tensors[1]) : 0;

    return a > b ? a : b;
}

/* Returns the floats of one thread's copies of the rows that a row of tiles reads, for the tensor
 * with most channels; 0 if all rows are read in place. */
static size_t lines_of(const struct winograd *g, const struct conv_operands *r, bool copied)
{
    size_t ns = largest_channels(r->src), nd = largest_channels(r->dst);

    return !copied ? 0 : g->rows->side * g->width * (ns > nd ? ns : nd);
}

static const struct winograd_rows *rows_of(const struct conv_operands *r)
{
    const struct shape *s = &r->src[0]->shape;

    return winograd_rows_best((size_t)s->dim[DIM_H], (size_t)s->dim[DIM_W],
                              conv_operands_common_channels(r->src),
                              conv_operands_common_channels(r->dst));
}

bool winograd_supports(const struct op *op)
{
    struct conv_operands r = conv_operands_of(op);
    const struct winograd_rows *rows = rows_of(&r);
    size_t ns = conv_operands_channels(r.src), nd = conv_operands_channels(r.dst),
           pixels = tensor_pixels(r.src[0]);

    return rows && norm_prologue_supports(op) && norm_moments_supports(op) &&
           op->attr.kernel == WINOGRAD_KERNEL && op->attr.stride <= 1 && ns * nd <= MAX_WEIGHTS &&
           pixels >= MIN_TILES * rows->tile * rows->tile;
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

struct winograd winograd_of(const struct conv_operands *r, bool copied)
{
    struct winograd whole = {0}, *g = &whole;

    g->nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    g->height = (size_t)r->src[0]->shape.dim[DIM_H];
    g->width = (size_t)r->src[0]->shape.dim[DIM_W];
    g->src_channels = conv_operands_channels(r->src);
    g->dst_channels = conv_operands_channels(r->dst);
    for (int k = 0; k < CONV_CONCAT; k++) {
        g->src_channels_of[k] = r->src[k] ? tensor_channels(r->src[k]) : 0;
        g->dst_channels_of[k] = r->dst[k] ? tensor_channels(r->dst[k]) : 0;
    }
    g->rows = rows_of(r);
    g->places = g->rows->side * g->rows->side;
    g->lines = lines_of(g, r, copied);
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

static const float *read_source(const struct conv_operands *operands, size_t part, size_t at,
                                size_t n, float *copy)
{
    const float *row = operands->src[part]->data + at;

    if (!operands->norm[part])
        return row;
    batch_norm_apply(operands->norm[part], row, n, copy);
    return copy;
}

static bool is_made(const struct conv_operands *operands, size_t part)
{
    return part == 0 && operands->producer;
}

size_t winograd_first_new(const struct winograd *g, size_t r)
{
    return r % g->down == 0 ? 0 : g->rows->side - g->rows->tile;
}

/* Sets rows to the rows of pixels that row of tiles r, counted over all images, reads from one
 * source tensor. Rows before number `first` have been copied already. */
static void source_rows(const struct winograd *g, const struct conv_operands *operands, size_t part,
                        const float *zeros, size_t r, size_t first, float *lines,
                        const float **rows)
{
    size_t line = g->width * g->src_channels_of[part], nmade = 0, from = 0;
    float *made[WINOGRAD_SIDE];

    for (size_t i = 0; i < g->rows->side; i++) {
        size_t y = g->rows->tile * (r % g->down) + i - 1; /* -1 wraps to a large number, too */
        size_t row = r / g->down * g->height + y;
        float *copy = winograd_copy(g, lines, r, i, line);

        if (y >= g->height) {
            rows[i] = zeros;
        } else if (i < first) {
            rows[i] = copy;
        } else if (is_made(operands, part)) {
            from = nmade ? from : row;
            rows[i] = made[nmade++] = copy;
        } else {
            rows[i] = read_source(operands, part, row * line, line, copy);
        }
    }
    if (nmade)
        operands->producer->rows(operands->producer, from, nmade, made);
}

void winograd_transform_source(const struct winograd *g, const struct conv_operands *operands,
                               const float *zeros, const struct winograd_band *b, bool continues,
                               float *lines, float *d)
{
    const float *rows[WINOGRAD_SIDE];
    size_t ns = g->src_channels, side = g->rows->side;

    for (size_t r = b->from; r < b->to; r++, d += b->width / g->rows->tile * ns) {
        size_t first = b->x                       ? side
                       : continues || r > b->from ? winograd_first_new(g, r)
                                                  : 0,
               at = 0;

        for (size_t k = 0; k < CONV_CONCAT && operands->src[k]; at += g->src_channels_of[k++]) {
            /* At most one tensor has a norm or a producer, so the copies are of its rows. */
            source_rows(g, operands, k, zeros, r,
                        operands->norm[k] || is_made(operands, k) ? first : 0, lines, rows);
            for (size_t i = 0; i < side; i++)
                rows[i] += b->x * g->src_channels_of[k];
            g->rows->source(rows, b->width, g->src_channels_of[k], ns, winograd_band_beside(g, b),
                            g->src_place, d + at * g->rows->group);
        }
    }
}

void winograd_spread_source(const struct winograd *g, const struct conv_operands *operands,
                            const struct winograd_band *b, float *lines, float *d)
{
    size_t ns = g->src_channels, tile = g->rows->tile;
    const float *rows[WINOGRAD_SIDE];

    for (size_t r = b->from; r < b->to; r++, d += b->width / tile * ns)
        for (size_t k = 0, at = 0; k < CONV_CONCAT && operands->src[k];
             at += g->src_channels_of[k++]) {
            size_t n = g->src_channels_of[k], line = g->width * n;

            for (size_t i = 0; i < tile; i++) {
                float *copy = lines + i * line;
                bool copied = b->x && operands->norm[k];

                rows[i] =
                    copied ? copy : read_source(operands, k, (r * tile + i) * line, line, copy);
                rows[i] += b->x * n;
            }
            g->rows->spread(rows, b->width, n, ns, g->src_place, d + at * g->rows->group);
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
