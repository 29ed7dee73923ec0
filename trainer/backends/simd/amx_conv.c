/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions of bf16 by tiles (amx_tiles.h).
 *
 * A row of the first factor is a pixel with its two neighbours to the right, all their channels: what a
 * row of the window needs lies side by side in memory and is read in place, (column, channel) being one
 * index. The second factor are the weights, 16 channels of results across. With 8 channels of results a
 * row is two pixels with two neighbours, and its 16 results are both pixels'; 3 of 4 products count then.
 *
 * Rows of several lines follow each other with two zeros between, so that narrow images fill tiles, too;
 * results between lines are computed and left out. The gradient of the input is the same convolution
 * with the window turned by 180 degrees and the roles of the channels changed. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/amx_check.h"
#include "trainer/backends/simd/amx_rows.h"
#include "trainer/backends/simd/amx_tiles.h"
#include "trainer/backends/simd/half.h"

#define KERNEL 3
#define BORDER (KERNEL - 1)
#define NEIGHBOURS 2
#define SLICE 128              /* pixels whose results wait to be rounded, about: half a first cache */
#define BAND_NUMBERS (1 << 18) /* of the source: a quarter of the second cache */
#define SHARE 4                /* bands for each thread, where there are as many rows */
#define MAX_WEIGHTS (1 << 20)  /* pairs of channels */
#define LINE AMX_ROWS_LINE
#define COLUMNS AMX_TILES_COLUMNS

/* op->priv; for the gradient of the input src is dy. */
struct conv {
    const struct amx_tiles *tiles;
    struct amx_shape shape;
    float_rows_narrow_f *narrow;
    size_t nimages, height, width, ns, nd;
    size_t group;          /* pixels of a row of a tile */
    size_t pitch;          /* pixels from a line of the source to the next */
    size_t slice, band, nbands; /* lines whose results are computed at once; of a task; of an image */
    size_t nsteps, ntiles; /* of a row of the window; of results across */
    size_t source, results; /* a thread's: numbers, floats */
    size_t packed, bias;    /* numbers, floats */
    size_t nthreads;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Tiles down for that many lines: from the first to the last pixel, with what lies between. */
static size_t tiles_down(const struct conv *c, size_t nlines)
{
    size_t npixels = (nlines - 1) * c->pitch + c->width, tile = AMX_TILES_ROWS * c->group;

    return (npixels + tile - 1) / tile;
}

static void cut(struct conv *c)
{
    size_t most = BAND_NUMBERS / (c->pitch * c->ns);
    size_t share = (c->nimages * c->height + SHARE * c->nthreads - 1) / (SHARE * c->nthreads);

    c->slice = least(c->pitch < SLICE ? SLICE / c->pitch : 1, c->height);
    c->band = least(least(most, share), c->height) / c->slice * c->slice;
    if (c->band == 0)
        c->band = c->slice;
    c->nbands = (c->height + c->band - 1) / c->band;
}

static struct conv *create(const struct roles *r)
{
    struct conv *c = calloc(1, sizeof *c);
    size_t window;

    if (!c)
        return NULL;
    c->tiles = amx_tiles_best();
    c->narrow = float_rows_narrow();
    c->nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    c->height = (size_t)r->src[0]->shape.dim[DIM_H];
    c->width = (size_t)r->src[0]->shape.dim[DIM_W];
    c->ns = roles_channels(r->src);
    c->nd = roles_channels(r->dst);
    c->nthreads = simd_threads();
    c->group = c->nd % COLUMNS == 0 ? 1 : NEIGHBOURS;
    c->pitch = amx_rows_round_up(c->width + BORDER, c->group);
    cut(c);
    window = (c->group + BORDER) * c->ns;
    c->shape = (struct amx_shape){AMX_TILES_ROWS, COLUMNS, window % 32 == 0 ? 32 : 24};
    c->nsteps = window / c->shape.depth;
    c->ntiles = c->group * c->nd / COLUMNS;
    /* Behind the last line what the last tile reads, too: its results are left out. */
    c->source = amx_rows_round_up(
        ((c->band + BORDER) * c->pitch + AMX_TILES_ROWS * c->group + BORDER) * c->ns, LINE);
    c->results = amx_rows_round_up(
        (tiles_down(c, c->slice) * AMX_TILES_ROWS * c->group + c->width) * c->nd, LINE);
    c->packed = KERNEL * window * c->ntiles * COLUMNS;
    c->bias = amx_rows_round_up(c->group * c->nd, LINE);
    return c;
}

/* Pair k of the window's row in column n lies here, of a tile of results. */
static size_t place_of(const struct conv *c, size_t k, size_t n)
{
    size_t step = c->shape.depth;

    return k / step * step * COLUMNS + (k % step / 2 * COLUMNS + n) * 2;
}

/* packed[tile][row of the window][step][pair][column][2], from w[O][I][3][3]; turned: for the gradient
 * of the input. */
static void pack(const struct conv *c, const float *w, bool turned, uint16_t *packed)
{
    size_t ns = c->ns, nd = c->nd, window = (size_t)KERNEL * KERNEL;
    size_t next = window * (turned ? nd : 1), row = c->nsteps * c->shape.depth * COLUMNS;

    if (c->group > 1)
        memset(packed, 0, c->packed * sizeof *packed);
#pragma omp parallel for schedule(static) num_threads(c->nthreads)
    for (size_t d = 0; d < nd; d++)
        for (size_t s = 0; s < ns; s += 2)
            for (size_t i = 0; i < c->group * KERNEL; i++) {
                const float *tap = w + (turned ? s * nd + d : d * ns + s) * window;
                size_t pixel = i / KERNEL, column = i % KERNEL;
                uint16_t *to = packed + d / COLUMNS * KERNEL * row +
                               place_of(c, (pixel + column) * ns + s, pixel * nd + d % COLUMNS);

                for (size_t r = 0; r < KERNEL; r++, to += row) {
                    size_t k = r * KERNEL + column, from = turned ? window - 1 - k : k;

                    to[0] = half_narrow(tap[from]);
                    to[1] = half_narrow(tap[next + from]);
                }
            }
}

/* Lines [y, y + n) of a task, whose first line's window begins with the first of source. */
static void correlate_slice(const struct conv *c, const uint16_t *source, const uint16_t *packed,
                            const float *bias, size_t n, float *results)
{
    size_t row = c->nsteps * c->shape.depth * COLUMNS, across = c->group * c->nd;
    const struct amx_product p = {
        .a = {source, c->group * c->ns, AMX_TILES_ROWS * c->group * c->ns, c->shape.depth,
              c->pitch * c->ns},
        .b = {packed, 2 * COLUMNS, KERNEL * row, c->shape.depth * COLUMNS, row},
        .nwindows = KERNEL,
        .nsteps = c->nsteps,
        .from = bias,
        .from_n = COLUMNS,
        .to = results,
        .to_row = across,
        .to_m = AMX_TILES_ROWS * across,
        .to_n = COLUMNS,
    };

    amx_tiles_multiply(c->tiles, &p, tiles_down(c, n), c->ntiles);
}

static void correlate_task(const struct conv *c, const struct roles *roles, size_t i,
                           const uint16_t *packed, const float *bias, uint16_t *source, float *results)
{
    size_t image = i / c->nbands, from = i % c->nbands * c->band;
    size_t nlines = least(c->band, c->height - from);
    float *copy = results + c->results - c->width * c->nd;

    amx_rows_read(roles->src, image, from, nlines + BORDER, 1, c->pitch, source);
    for (size_t y = 0; y < nlines; y += c->slice) {
        size_t n = least(c->slice, nlines - y);

        correlate_slice(c, source + y * c->pitch * c->ns, packed, bias, n, results);
        for (size_t k = 0; k < n; k++)
            amx_rows_write(roles->dst, image, from + y + k, results + k * c->pitch * c->nd, copy,
                           c->narrow);
    }
}

/* Workspace: bias, the weights, and for each thread results and source. */
static void correlate(const struct op *op, bool turned)
{
    const struct conv *c = op->priv;
    const struct roles roles = roles_of(op);
    float *bias = op->workspace, *results = bias + c->bias;
    uint16_t *packed = (uint16_t *)(void *)(results + c->nthreads * c->results);
    uint16_t *sources = packed + c->packed;

    pack(c, roles.weights->data, turned, packed);
    for (size_t i = 0; i < c->group * c->nd; i++)
        bias[i] = roles.bias ? roles.bias->data[i % c->nd] : 0;
#pragma omp parallel num_threads(c->nthreads)
    {
        c->tiles->begin(&c->shape);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nimages * c->nbands; i++)
            correlate_task(c, &roles, i, packed, bias, sources + simd_thread() * c->source,
                           results + simd_thread() * c->results);
        c->tiles->end();
    }
}

static int prepare(struct op *op, struct err *e)
{
    const struct roles r = roles_of(op);
    struct conv *c = create(&r);

    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    op->workspace_size = (c->bias + c->nthreads * c->results) * sizeof(float) +
                         (c->packed + c->nthreads * c->source) * sizeof(uint16_t);
    op->priv = c;
    return 0;
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, false);
    return 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, true);
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

/* With 24 or 40 channels of results columns would lie idle. */
static bool can_do(const struct op *op)
{
    const struct roles r = roles_of(op);
    size_t ns = roles_channels(r.src), nd = roles_channels(r.dst);

    return amx_tiles_best() && op->attr.kernel == KERNEL && op->attr.stride <= 1 &&
           amx_rows_support(r.src) && amx_rows_support(r.dst) &&
           (nd == AMX_ROWS_CHANNELS || nd % COLUMNS == 0) && ns * nd <= MAX_WEIGHTS;
}

static bool supports(const struct op *op)
{
    static const struct kernel forward = {NULL, NULL, prepare, run_conv2d, release};

    return can_do(op) && amx_check(&forward, op);
}

static bool supports_grad_input(const struct op *op)
{
    static const struct kernel backward = {NULL, NULL, prepare, run_grad_input, release};

    return can_do(op) && amx_check(&backward, op);
}

const struct kernel simd_amx_conv = {&conv2d_kind, supports, prepare, run_conv2d, release};
const struct kernel simd_amx_conv_nobias = {&conv2d_nobias_kind, supports, prepare, run_conv2d,
                                            release};
const struct kernel simd_amx_conv_concat = {&concat_conv2d_kind, supports, prepare, run_conv2d,
                                            release};
const struct kernel simd_amx_conv_grad_input = {&conv2d_grad_input_kind, supports_grad_input, prepare,
                                                run_grad_input, release};
const struct kernel simd_amx_conv_concat_grad_input = {
    &concat_conv2d_grad_input_kind, supports_grad_input, prepare, run_grad_input, release};
