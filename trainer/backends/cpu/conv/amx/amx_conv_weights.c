/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the weights of 3x3 convolutions of bf16 by AMX tiles (isa/amx_tiles.h): a product
 * of matrices that sums over pixels. The first matrix is dy with one plane per channel. The second
 * holds for each pair of neighbouring pixels the values of all channels side by side, interleaved
 * as tiles need them; it is made once for all nine places of the window, which are offsets into it.
 *
 * An image is cut into bands of rows. The rows of a band follow each other with two pixels between
 * them where dy is zero, so that one sum runs over all of a band. A chunk of consecutive bands, of
 * one or several images, has its own sums. The number of chunks does not depend on the number of
 * threads, and their sums are added in order. */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_conv_weights.h"

#include <string.h>

#include "trainer/backends/cpu/conv/amx/amx_check.h"
#include "trainer/backends/cpu/conv/amx/amx_kernels.h"
#include "trainer/backends/cpu/conv/conv_rows.h"
#include "trainer/backends/cpu/isa/bf16.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/ref/vector.h"

#define KERNEL 3
#define BORDER (KERNEL - 1)
#define DEPTH AMX_TILES_DEPTH  /* pixels that one product sums over */
#define SHARE (1 << 19)        /* bf16 values of pairs and planes: half a second-level cache */
#define MAX_CHUNKS 32
#define CHUNK_PIXELS 4096
#define MAX_SUMS (1 << 24)     /* floats of all chunks: 64 MiB */
#define MIN_CHUNKS 4           /* MAX_SUMS must have room for about this many */
#define LINE AMX_ROWS_LINE

static size_t pixels_of(const struct amx_conv_weights *c, size_t nlines)
{
    return simd_round_up(nlines * c->pitch, DEPTH);
}

/* Returns the distance of planes in bf16 values. It is an odd number of cache lines, because the
 * rows of a tile would otherwise fall into few sets of the cache. */
static size_t plane_of(size_t npixels)
{
    size_t nlines = simd_round_up(npixels + LINE, LINE) / LINE;

    return (nlines | 1) * LINE;
}

struct amx_conv_weights amx_conv_weights_of(const struct conv_operands *r, size_t share)
{
    struct amx_conv_weights c = {.tiles = amx_tiles_best(), .nthreads = simd_threads()};
    size_t most, rest;

    c.nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    c.height = (size_t)r->src[0]->shape.dim[DIM_H];
    c.width = (size_t)r->src[0]->shape.dim[DIM_W];
    c.ns = conv_operands_channels(r->src);
    c.nd = conv_operands_channels(r->dst);
    c.shape = (struct amx_shape){c.nd % 16 == 0 ? 16 : 8, c.ns % 16 == 0 ? 16 : 12, DEPTH, false};
    c.pitch = c.width + BORDER;
    most = share / (c.pitch * (2 * c.ns + c.nd));
    c.band = most > BORDER ? simd_min(most - BORDER, c.height) : 1;
    c.nbands = (c.height + c.band - 1) / c.band;
    rest = pixels_of(&c, c.band) + BORDER * c.pitch + BORDER;
    c.pairs = rest * c.ns;
    c.source = simd_round_up((rest + 1) * c.ns, LINE);
    c.plane = plane_of(pixels_of(&c, c.band));
    c.room = simd_round_up(c.source + 2 * c.pairs + c.nd * c.plane, LINE);
    c.nsums = (size_t)KERNEL * KERNEL * c.ns * c.nd + c.nd;
    c.nchunks = simd_min(c.nimages * c.height * c.width / CHUNK_PIXELS + 1, c.nimages * c.nbands);
    c.nchunks = simd_min(simd_min(c.nchunks, MAX_CHUNKS), MAX_SUMS / c.nsums);
    return c;
}

size_t amx_conv_weights_first(const struct amx_conv_weights *c, size_t i)
{
    return c->nimages * c->nbands * i / c->nchunks;
}

struct amx_conv_band amx_conv_weights_band(const struct amx_conv_weights *c, size_t task,
                                           uint16_t *room)
{
    size_t from = task % c->nbands * c->band, nlines = simd_min(c->band, c->height - from);
    uint16_t *pairs = room + c->source;

    return (struct amx_conv_band){task / c->nbands, from, nlines, pixels_of(c, nlines), room,
                                  pairs + 2 * c->pairs, (uint32_t *)(void *)pairs};
}

static void clear(uint16_t *planes, size_t plane, size_t nplanes, size_t from, size_t n)
{
    for (size_t k = 0; k < nplanes; k++)
        for (size_t i = 0; i < n; i++)
            planes[k * plane + from + i] = 0;
}

/* Fills the band's source, pairs and planes, with zeros after the last row as far as the sums
 * run. */
static void amx_conv_weights_fill(const struct amx_conv_weights *c,
                                  const struct conv_operands *operands,
                                  const struct amx_conv_band *b, const uint16_t *dy,
                                  size_t distance)
{
    size_t used = (b->nlines + BORDER) * c->pitch;
    size_t all = b->npixels + BORDER * c->pitch + BORDER;

    amx_rows_read(operands->src, operands->norm, b->image, b->from, b->nlines + BORDER, 1, c->pitch,
                  b->source);
    memset(b->source + used * c->ns, 0, (all + 1 - used) * c->ns * sizeof *b->source);
    amx_rows_pair(b->source, c->ns, all * c->ns, b->pairs);
    for (size_t y = 0; y < b->nlines; y++) {
        amx_rows_split(dy + y * distance, c->nd, c->width, b->planes + y * c->pitch, c->plane);
        clear(b->planes, c->plane, c->nd, y * c->pitch + c->width, BORDER);
    }
    clear(b->planes, c->plane, c->nd, b->nlines * c->pitch, b->npixels - b->nlines * c->pitch);
}

/* Adds to sums[row of the window][channel of dy][column of the window][channel of the source]. */
static void add_products(const struct amx_conv_weights *c, const struct amx_conv_band *b,
                         float *sums)
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
        sum += bf16_to_float(plane[i]);
    return sum;
}

void amx_conv_weights_add(const struct amx_conv_weights *c, const struct conv_operands *operands,
                          const struct amx_conv_band *b, const uint16_t *dy, size_t distance,
                          float *sums)
{
    float *bias = sums + c->nsums - c->nd;

    amx_conv_weights_fill(c, operands, b, dy, distance);
    add_products(c, b, sums);
    for (size_t d = 0; operands->bias && d < c->nd; d++)
        bias[d] += sum_plane(b->planes + d * c->plane, b->npixels);
}

static void amx_conv_weights_sum_chunk(const struct amx_conv_weights *c,
                                       const struct conv_operands *operands, size_t i,
                                       uint16_t *room, float *sums)
{
    size_t line = c->width * c->nd;

    memset(sums, 0, c->nsums * sizeof *sums);
    for (size_t task = amx_conv_weights_first(c, i); task < amx_conv_weights_first(c, i + 1);
         task++) {
        struct amx_conv_band b = amx_conv_weights_band(c, task, room);

        amx_conv_weights_add(c, operands, &b,
                             operands->dst[0]->half + (b.image * c->height + b.from) * line, line,
                             sums);
    }
}

/* Writes dw[O][I][3][3] from sums in the order of add_products(), and db. */
void amx_conv_weights_finish(const struct amx_conv_weights *c, const struct conv_operands *operands,
                             const float *sums)
{
    size_t ns = c->ns, nd = c->nd;
    float *dw = operands->weights->data;

#pragma omp parallel for schedule(static) num_threads(c->nthreads)
    for (size_t d = 0; d < nd; d++)
        for (size_t s = 0; s < ns; s++)
            for (size_t r = 0; r < KERNEL; r++)
                for (size_t j = 0; j < KERNEL; j++)
                    dw[((d * ns + s) * KERNEL + r) * KERNEL + j] =
                        sums[((r * nd + d) * KERNEL + j) * ns + s];
    if (operands->bias)
        memcpy(operands->bias->data, sums + c->nsums - c->nd, c->nd * sizeof *sums);
}

/* Workspace: the sums of all chunks, room for each thread. */
static int amx_conv_weights_run(struct op *op, struct exec *x, struct err *e)
{
    const struct amx_conv_weights *c = op->priv;
    const struct conv_operands operands = conv_operands_of(op);
    float *sums = op->workspace;
    uint16_t *rooms = (uint16_t *)(void *)(sums + simd_round_up(c->nchunks * c->nsums, LINE));

    (void)x;
    (void)e;
#pragma omp parallel num_threads(c->nthreads)
    {
        c->tiles->begin(&c->shape);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            amx_conv_weights_sum_chunk(c, &operands, i, rooms + simd_thread() * c->room,
                                       sums + i * c->nsums);
        c->tiles->end();
        conv_rows_add(sums, c->nsums, c->nchunks);
    }
    amx_conv_weights_finish(c, &operands, sums);
    return 0;
}

static int amx_conv_weights_prepare(struct op *op, struct err *e)
{
    const struct conv_operands r = conv_operands_of(op);
    const struct amx_conv_weights c = amx_conv_weights_of(&r, SHARE);

    op->workspace_size = simd_round_up(c.nchunks * c.nsums, LINE) * sizeof(float) +
                         c.nthreads * c.room * sizeof(uint16_t);
    return simd_keep(op, &c, sizeof c, e);
}

static bool amx_conv_weights_supports(const struct op *op)
{
    static const struct kernel kernel = {
        .prepare = amx_conv_weights_prepare, .run = amx_conv_weights_run, .release = simd_release};
    const struct conv_operands r = conv_operands_of(op);
    size_t ns = conv_operands_channels(r.src), nd = conv_operands_channels(r.dst);

    return amx_tiles_best() && op->attr.kernel == KERNEL && op->attr.stride <= 1 &&
           amx_rows_supports(r.src) && amx_rows_supports(r.dst) &&
           KERNEL * KERNEL * ns * nd <= MAX_SUMS / MIN_CHUNKS && amx_check(&kernel, op);
}

const struct kernel simd_amx_conv_grad_weights = {
    .kind = &conv2d_grad_kind, .supports = amx_conv_weights_supports,
    .prepare = amx_conv_weights_prepare, .run = amx_conv_weights_run, .release = simd_release,
    .may = OP_NO_BIAS | OP_HAS_SECOND, .must = OP_WEIGHTS_ONLY, .types = KERNEL_HALVES};
