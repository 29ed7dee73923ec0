/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the weights of 3x3 convolutions of bf16 by tiles (amx_tiles.h): a product that runs over
 * pixels. The first factor are planes of dy, a row for each of its channels. A row of the second one
 * has, for two neighbouring pixels, the channels of the three columns of the window: number pairs of
 * pixels, made once for all rows of the window, lie side by side as (column, channel).
 *
 * Lines of a band follow each other with two pixels between, where dy is zero, so that a sum over pixels
 * does not end with a line. Sums of a chunk of bands, whose number does not depend on the threads, are
 * kept to its end; the chunks' sums are added in order. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/amx_check.h"
#include "trainer/backends/simd/amx_rows.h"
#include "trainer/backends/simd/amx_tiles.h"
#include "trainer/backends/simd/conv_rows.h"
#include "trainer/backends/simd/half.h"
#include "trainer/backends/vector.h"

#define KERNEL 3
#define BORDER (KERNEL - 1)
#define DEPTH AMX_TILES_DEPTH  /* pixels that are added up at once */
#define BAND_NUMBERS (1 << 19) /* of pairs and planes: half the second cache */
#define MAX_CHUNKS 32
#define CHUNK_PIXELS 4096
#define MAX_SUMS (1 << 24)     /* floats of all chunks: 64 MiB */
#define MIN_CHUNKS 4           /* that there must be room for */
#define LINE AMX_ROWS_LINE

/* op->priv */
struct weights {
    const struct amx_tiles *tiles;
    struct amx_shape shape;
    size_t nimages, height, width, ns, nd;
    size_t pitch, band, nbands; /* pixels from line to line; lines of a band; bands of an image */
    size_t source, pairs, plane, room; /* a thread's: numbers; pairs; numbers of a plane; of all */
    size_t nsums, nchunks, nthreads;   /* floats of a chunk: weights, bias */
};

/* What a task adds up: the lines of a band, and how many pixels that are, in whole tiles. */
struct band {
    size_t image, from, nlines, npixels;
    uint16_t *source, *planes;
    uint32_t *pairs;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t pixels_of(const struct weights *c, size_t nlines)
{
    return amx_rows_round_up(nlines * c->pitch, DEPTH);
}

/* Rows of a tile that lie an even number of lines apart would meet in few sets of the cache. */
static size_t plane_of(size_t npixels)
{
    size_t nlines = amx_rows_round_up(npixels + LINE, LINE) / LINE;

    return (nlines | 1) * LINE;
}

static struct weights *create(const struct roles *r)
{
    struct weights *c = calloc(1, sizeof *c);
    size_t most, rest;

    if (!c)
        return NULL;
    c->tiles = amx_tiles_best();
    c->nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    c->height = (size_t)r->src[0]->shape.dim[DIM_H];
    c->width = (size_t)r->src[0]->shape.dim[DIM_W];
    c->ns = roles_channels(r->src);
    c->nd = roles_channels(r->dst);
    c->shape = (struct amx_shape){c->nd % 16 == 0 ? 16 : 8, c->ns % 16 == 0 ? 16 : 12, DEPTH};
    c->pitch = c->width + BORDER;
    most = BAND_NUMBERS / (c->pitch * (2 * c->ns + c->nd));
    c->band = most > BORDER ? least(most - BORDER, c->height) : 1;
    c->nbands = (c->height + c->band - 1) / c->band;
    rest = pixels_of(c, c->band) + BORDER * c->pitch + BORDER;
    c->pairs = rest * c->ns;
    c->source = amx_rows_round_up((rest + 1) * c->ns, LINE);
    c->plane = plane_of(pixels_of(c, c->band));
    c->room = amx_rows_round_up(c->source + 2 * c->pairs + c->nd * c->plane, LINE);
    c->nsums = (size_t)KERNEL * KERNEL * c->ns * c->nd + c->nd;
    c->nchunks = least(c->nimages * c->height * c->width / CHUNK_PIXELS + 1, c->nimages * c->nbands);
    c->nchunks = least(least(c->nchunks, MAX_CHUNKS), MAX_SUMS / c->nsums);
    c->nthreads = simd_threads();
    return c;
}

static struct band band_of(const struct weights *c, size_t i, uint16_t *room)
{
    size_t from = i % c->nbands * c->band, nlines = least(c->band, c->height - from);
    uint16_t *pairs = room + c->source;

    return (struct band){i / c->nbands, from, nlines, pixels_of(c, nlines), room,
                         pairs + 2 * c->pairs, (uint32_t *)(void *)pairs};
}

static void clear(uint16_t *planes, size_t plane, size_t nplanes, size_t from, size_t n)
{
    for (size_t k = 0; k < nplanes; k++)
        for (size_t i = 0; i < n; i++)
            planes[k * plane + from + i] = 0;
}

/* Zeros behind the last line, too, as far as sums run. */
static void fill(const struct weights *c, const struct roles *roles, const struct band *b)
{
    const struct tensor *dy = roles->dst[0];
    size_t used = (b->nlines + BORDER) * c->pitch;
    size_t all = b->npixels + BORDER * c->pitch + BORDER;

    amx_rows_read(roles->src, b->image, b->from, b->nlines + BORDER, 1, c->pitch, b->source);
    memset(b->source + used * c->ns, 0, (all + 1 - used) * c->ns * sizeof *b->source);
    amx_rows_pair(b->source, c->ns, all * c->ns, b->pairs);
    for (size_t y = 0; y < b->nlines; y++) {
        size_t line = (b->image * c->height + b->from + y) * c->width;

        amx_rows_split(dy->half + line * c->nd, c->nd, c->width, b->planes + y * c->pitch, c->plane);
        clear(b->planes, c->plane, c->nd, y * c->pitch + c->width, BORDER);
    }
    clear(b->planes, c->plane, c->nd, b->nlines * c->pitch, b->npixels - b->nlines * c->pitch);
}

/* sums[row of the window][channel of dy][column of the window][channel of the source] */
static void add_products(const struct weights *c, const struct band *b, float *sums)
{
    const uint16_t *pairs = (const uint16_t *)(const void *)b->pairs;

    for (size_t r = 0; r < KERNEL; r++) {
        float *to = sums + r * c->nd * KERNEL * c->ns;
        size_t row = KERNEL * c->ns, down = c->shape.rows * row;
        const struct amx_product p = {
            .a = {b->planes, c->plane, c->shape.rows * c->plane, DEPTH, 0},
            .b = {pairs + r * c->pitch * c->ns * 2, 2 * c->ns * 2, c->shape.columns * 2,
                  DEPTH * c->ns * 2, 0},
            .nwindows = 1,
            .nsteps = b->npixels / DEPTH,
            .from = to,
            .from_row = row,
            .from_m = down,
            .from_n = c->shape.columns,
            .to = to,
            .to_row = row,
            .to_m = down,
            .to_n = c->shape.columns,
        };

        amx_tiles_multiply(c->tiles, &p, c->nd / c->shape.rows, row / c->shape.columns);
    }
}

VECTOR_CLONES static float sum_plane(const uint16_t *plane, size_t n)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += half_widen(plane[i]);
    return sum;
}

/* Bands [from, to) of all images. */
static void sum_chunk(const struct weights *c, const struct roles *roles, size_t from, size_t to,
                      uint16_t *room, float *sums)
{
    float *bias = sums + c->nsums - c->nd;

    memset(sums, 0, c->nsums * sizeof *sums);
    for (size_t i = from; i < to; i++) {
        struct band b = band_of(c, i, room);

        fill(c, roles, &b);
        add_products(c, &b, sums);
        for (size_t d = 0; roles->bias && d < c->nd; d++)
            bias[d] += sum_plane(b.planes + d * c->plane, b.npixels);
    }
}

/* dw[O][I][3][3] from the order of add_products(). */
static void finish(const struct weights *c, const float *sums, float *dw)
{
    size_t ns = c->ns, nd = c->nd;

#pragma omp parallel for schedule(static) num_threads(c->nthreads)
    for (size_t d = 0; d < nd; d++)
        for (size_t s = 0; s < ns; s++)
            for (size_t r = 0; r < KERNEL; r++)
                for (size_t j = 0; j < KERNEL; j++)
                    dw[((d * ns + s) * KERNEL + r) * KERNEL + j] =
                        sums[((r * nd + d) * KERNEL + j) * ns + s];
}

/* Workspace: the sums of all chunks, room for each thread. */
static int run(struct op *op, struct exec *x, struct err *e)
{
    const struct weights *c = op->priv;
    const struct roles roles = roles_of(op);
    size_t ntasks = c->nimages * c->nbands;
    float *sums = op->workspace;
    uint16_t *rooms = (uint16_t *)(void *)(sums + amx_rows_round_up(c->nchunks * c->nsums, LINE));

    (void)x;
    (void)e;
#pragma omp parallel num_threads(c->nthreads)
    {
        c->tiles->begin(&c->shape);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            sum_chunk(c, &roles, ntasks * i / c->nchunks, ntasks * (i + 1) / c->nchunks,
                      rooms + simd_thread() * c->room, sums + i * c->nsums);
        c->tiles->end();
        conv_rows_add(sums, c->nsums, c->nchunks);
    }
    finish(c, sums, roles.weights->data);
    if (roles.bias)
        memcpy(roles.bias->data, sums + c->nsums - c->nd, c->nd * sizeof *sums);
    return 0;
}

static int prepare(struct op *op, struct err *e)
{
    const struct roles r = roles_of(op);
    struct weights *c = create(&r);

    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    op->workspace_size = amx_rows_round_up(c->nchunks * c->nsums, LINE) * sizeof(float) +
                         c->nthreads * c->room * sizeof(uint16_t);
    op->priv = c;
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

static bool supports(const struct op *op)
{
    static const struct kernel kernel = {NULL, NULL, prepare, run, release};
    const struct roles r = roles_of(op);
    size_t ns = roles_channels(r.src), nd = roles_channels(r.dst);

    return amx_tiles_best() && op->attr.kernel == KERNEL && op->attr.stride <= 1 &&
           amx_rows_support(r.src) && amx_rows_support(r.dst) &&
           KERNEL * KERNEL * ns * nd <= MAX_SUMS / MIN_CHUNKS && amx_check(&kernel, op);
}

const struct kernel simd_amx_conv_grad_weights = {&conv2d_grad_weights_kind, supports, prepare, run,
                                                  release};
const struct kernel simd_amx_conv_nobias_grad_weights = {&conv2d_nobias_grad_weights_kind, supports,
                                                         prepare, run, release};
const struct kernel simd_amx_conv_concat_grad_weights = {&concat_conv2d_grad_weights_kind, supports,
                                                         prepare, run, release};
