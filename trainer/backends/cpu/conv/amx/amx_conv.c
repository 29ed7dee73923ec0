/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions of bf16 as products of matrices by AMX tiles (isa/amx_tiles.h), forward and for
 * the gradient of the input, which is the convolution with the window rotated by 180 degrees and
 * the input and output channels exchanged.
 *
 * The first matrix is the source, read in place without im2col: a row of a tile begins at a pixel
 * and covers all channels of that pixel and of its two neighbours to the right, that is what one
 * row of the window needs. The second matrix holds the weights, 16 output channels wide. With 8
 * output channels a row covers two pixels and their two neighbours, and the 16 columns are the
 * results of both pixels; then a quarter of the products are with zeros.
 *
 * If a row of pixels fills whole tiles, or does so with the zeros beside it, four rows of results
 * are computed at once, so that a tile of the source is loaded once for all rows of the window.
 * Otherwise the rows of a band follow each other in memory with two pixels of zeros between them,
 * so that narrow images fill tiles, too; the results at those two pixels are ignored. */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_conv.h"

#include <string.h>

#include "trainer/backends/cpu/conv/amx/amx_check.h"
#include "trainer/backends/cpu/conv/amx/amx_kernels.h"
#include "trainer/backends/cpu/isa/bf16.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/norm_moments.h"
#include "trainer/backends/cpu/norm/norm_prologue.h"

#define KERNEL 3
#define BORDER AMX_CONV_BORDER
#define NEIGHBOURS 2
#define SLICE 128 /* pixels, about, or those of a longer row, whose results wait in floats to be
                   * rounded: half a first-level cache */
#define BAND_NUMBERS (1 << 18) /* bf16 values of the source: a quarter of a second-level cache */
#define TASKS 64 /* target number of tasks of a batch. There are fewer if a task would have less
                  * than c->slice rows, and more if there are more images or if a band would exceed
                  * BAND_NUMBERS. The number of threads is left out, because how moments are cut
                  * into partial ones changes their rounding */
#define MAX_WEIGHTS (1 << 20)  /* input channels times output channels */
#define LINE AMX_ROWS_LINE
#define COLUMNS AMX_TILES_COLUMNS

/* Returns how many tiles cover nlines rows of pixels that follow each other, from the first pixel
 * to the last, with the pixels between rows. */
static size_t tiles_down(const struct amx_conv *c, size_t nlines)
{
    size_t npixels = (nlines - 1) * c->pitch + c->width, tile = AMX_TILES_ROWS * c->group;

    return (npixels + tile - 1) / tile;
}

static void cut(struct amx_conv *c, size_t band)
{
    size_t most = BAND_NUMBERS / (c->pitch * c->ns),
           share = (c->nimages * c->height + TASKS - 1) / TASKS;

    c->slice = simd_min(c->shape.lines     ? AMX_TILES_LINES
                     : c->pitch < SLICE ? SLICE / c->pitch
                                        : 1,
                     c->height);
    c->band = band ? band : simd_min(simd_min(most, share), c->height) / c->slice * c->slice;
    if (c->band == 0)
        c->band = c->slice;
    c->nbands = (c->height + c->band - 1) / c->band;
}

struct amx_conv amx_conv_of(const struct conv_operands *r, size_t band)
{
    struct amx_conv c = {.tiles = amx_tiles_best(), .encode = float_rows_encode(),
                         .nthreads = simd_threads()};
    size_t window, whole;

    c.nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    c.height = (size_t)r->src[0]->shape.dim[DIM_H];
    c.width = (size_t)r->src[0]->shape.dim[DIM_W];
    c.ns = conv_operands_channels(r->src);
    c.nd = conv_operands_channels(r->dst);
    c.group = c.nd % COLUMNS == 0 ? 1 : NEIGHBOURS;
    c.pitch = simd_round_up(c.width + BORDER, c.group);
    window = (c.group + BORDER) * c.ns;
    whole = simd_round_up(c.width, AMX_TILES_ROWS * c.group);
    c.shape = (struct amx_shape){AMX_TILES_ROWS, COLUMNS, window % 32 == 0 ? 32 : 24,
                                 whole <= c.pitch};
    c.line = c.shape.lines ? whole : c.pitch;
    cut(&c, band);
    c.nsteps = window / c.shape.depth;
    c.ntiles = c.group * c.nd / COLUMNS;
    /* Room behind the last row, because the last tile reads beyond it; those results are
     * ignored. */
    c.source = simd_round_up(
        ((c.band + BORDER) * c.pitch + AMX_TILES_ROWS * c.group + BORDER) * c.ns, LINE);
    c.results = c.shape.lines ? c.slice * c.line
                              : tiles_down(&c, c.slice) * AMX_TILES_ROWS * c.group;
    c.results = simd_round_up((c.results + c.width) * c.nd, LINE);
    c.packed = KERNEL * window * c.ntiles * COLUMNS;
    c.bias = simd_round_up(c.group * c.nd, LINE);
    return c;
}

/* Returns where the weight of value k, an even number, of a window's row and of column n lies in
 * packed[step][pair][column][2], the weights of one row of the window for one tile. */
static size_t amx_conv_place_of(const struct amx_conv *c, size_t k, size_t n)
{
    size_t step = c->shape.depth;

    return k / step * step * COLUMNS + (k % step / 2 * COLUMNS + n) * 2;
}

/* Writes packed[tile][row of the window][step][pair][column][2]. */
void amx_conv_pack(const struct amx_conv *c, const float *w, bool turned, uint16_t *packed)
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
                uint16_t *to =
                    packed + d / COLUMNS * KERNEL * row +
                    amx_conv_place_of(c, (pixel + column) * ns + s, pixel * nd + d % COLUMNS);

                for (size_t r = 0; r < KERNEL; r++, to += row) {
                    size_t k = r * KERNEL + column, from = turned ? window - 1 - k : k;

                    to[0] = bf16_from_float(tap[from]);
                    to[1] = bf16_from_float(tap[next + from]);
                }
            }
}

/* Computes n rows of results; source begins with the first row of the first result's window. */
static void correlate_slice(const struct amx_conv *c, const uint16_t *source,
                            const uint16_t *packed, const float *bias, size_t n, float *results)
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
        .to_line = c->line * c->nd,
    };

    if (c->shape.lines)
        amx_tiles_lines(c->tiles, &p, n, tiles_down(c, 1), c->ntiles);
    else
        amx_tiles_multiply(c->tiles, &p, tiles_down(c, n), c->ntiles);
}

void amx_conv_lines(const struct amx_conv *c, const struct tensor *const *dst, size_t image,
                    size_t from, size_t nlines, const uint16_t *source, const uint16_t *packed,
                    const float *bias, float *results)
{
    float *copy = results + c->results - c->width * c->nd;

    for (size_t y = 0; y < nlines; y += c->slice) {
        size_t n = simd_min(c->slice, nlines - y);

        correlate_slice(c, source + y * c->pitch * c->ns, packed, bias, n, results);
        for (size_t k = 0; k < n; k++)
            amx_rows_write(dst, image, from + y + k, results + k * c->line * c->nd, copy,
                           c->encode);
    }
}

void amx_conv_repeat(const struct amx_conv *c, const struct tensor *bias, float *repeated)
{
    for (size_t i = 0; i < c->bias; i++)
        repeated[i] = bias ? bias->data[i % c->nd] : 0;
}

/* The pointers into the workspace during one run. */
struct amx_conv_workspace {
    const struct amx_conv *c;
    struct conv_operands operands;
    struct norm_moments moments;
    double *partials;
    float *coef, *bias, *results;
    uint16_t *packed, *sources;
};

static struct amx_conv_workspace amx_conv_workspace_of(const struct op *op,
                                                       const struct amx_conv *c,
                                                       struct simd_workspace *w)
{
    struct norm_moments moments = norm_moments_of(op, c->nimages * c->nbands);

    return (struct amx_conv_workspace){
        .c = c,
        .operands = conv_operands_of(op),
        .moments = moments,
        .partials = simd_take(w, moments.npartials * moments.size, sizeof(double)),
        .coef = simd_take(w, norm_prologue_size(op), sizeof(float)),
        .bias = simd_take(w, c->bias, sizeof(float)),
        .results = simd_take(w, c->nthreads * c->results, sizeof(float)),
        .packed = simd_take(w, c->packed, sizeof(uint16_t)),
        .sources = simd_take(w, c->nthreads * c->source, sizeof(uint16_t)),
    };
}

static int amx_conv_prepare(struct op *op, struct err *e)
{
    const struct conv_operands r = conv_operands_of(op);
    const struct amx_conv c = amx_conv_of(&r, 0);
    struct simd_workspace w = {0};

    amx_conv_workspace_of(op, &c, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &c, sizeof c, e);
}

static void run_task(const struct amx_conv_workspace *p, size_t i)
{
    const struct amx_conv *c = p->c;
    size_t image = i / c->nbands, from = i % c->nbands * c->band,
           nlines = simd_min(c->band, c->height - from);
    uint16_t *source = p->sources + simd_thread() * c->source;

    amx_rows_read(p->operands.src, p->operands.norm, image, from, nlines + BORDER, 1, c->pitch,
                  source);
    amx_conv_lines(c, p->operands.dst, image, from, nlines, source, p->packed, p->bias,
                   p->results + simd_thread() * c->results);
    if (p->moments.rows)
        norm_moments_partial(
            &p->moments, p->operands.dst[0]->half + (image * c->height + from) * c->width * c->nd,
            nlines * c->width, p->partials + i * p->moments.size);
}

static int amx_conv_run(struct op *op, struct exec *x, struct err *e)
{
    const struct amx_conv *c = op->priv;
    struct amx_conv_workspace p =
        amx_conv_workspace_of(op, c, &(struct simd_workspace){op->workspace, 0});
    struct norm_prologue norm;

    (void)x;
    (void)e;
    norm_prologue_init(&norm, op, p.coef);
    if (norm_prologue_coef(op))
        p.operands.norm[0] = &norm.map;
    amx_conv_pack(c, p.operands.weights->data, op->kind == &conv2d_grad_kind, p.packed);
    amx_conv_repeat(c, p.operands.bias, p.bias);
#pragma omp parallel num_threads(c->nthreads)
    {
        c->tiles->begin(&c->shape);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nimages * c->nbands; i++)
            run_task(&p, i);
        c->tiles->end();
    }
    if (p.moments.rows)
        norm_moments_combine(&p.moments, p.partials, op->out[OP_OUT_MOMENTS]);
    return 0;
}

/* Returns whether tiles are available and the op's sizes suit them. With 24 or 40 output channels
 * some columns of the tiles would be idle. Norms and moments need rows of whole vectors; the trial
 * of the kernel leaves them out, because tiles do not compute them. */
static bool amx_conv_supports(const struct op *op)
{
    static const struct kernel kernel = {
        .prepare = amx_conv_prepare, .run = amx_conv_run, .release = simd_release};
    const struct conv_operands r = conv_operands_of(op);
    size_t ns = conv_operands_channels(r.src), nd = conv_operands_channels(r.dst);
    struct op plain = *op;

    plain.in[OP_COEF] = plain.out[OP_OUT_MOMENTS] = NULL;
    return amx_tiles_best() && op->attr.kernel == KERNEL && op->attr.stride <= 1 &&
           amx_rows_supports(r.src) && amx_rows_supports(r.dst) &&
           (nd == AMX_ROWS_CHANNELS || nd % COLUMNS == 0) && ns * nd <= MAX_WEIGHTS &&
           norm_moments_supports(op, DTYPE_BF16) && norm_prologue_supports(op, DTYPE_BF16) &&
           !(op->in[OP_COEF] && op->in[OP_SECOND]) &&
           (!op->out[OP_OUT_MOMENTS] || norm_rows_fit(op->out[0])) && amx_check(&kernel, &plain);
}

#define KERNEL_OF(_kind) \
    .kind = &_kind, .supports = amx_conv_supports, .prepare = amx_conv_prepare, \
    .run = amx_conv_run, .release = simd_release, .types = KERNEL_HALVES

const struct kernel simd_amx_conv = {
    KERNEL_OF(conv2d_kind),
    .may = OP_NO_BIAS | OP_GIVES_MOMENTS | OP_HAS_SECOND | OP_HAS_COEF};
const struct kernel simd_amx_conv_grad_input = {
    KERNEL_OF(conv2d_grad_kind),
    .may = OP_HAS_SECOND, .must = OP_INPUT_ONLY};
