/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions with 16 to 256 channels by Winograd's transforms (winograd_rows.h), a band of
 * rows at a time, so that what is transformed stays in the cache of a core. The products are those
 * of conv_rows.h, with two vectors of results: with one the transforms cost more than they save.
 *
 * The gradient of the input is the same convolution with the window turned by 180 degrees and the
 * roles of the channels changed. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/conv_rows.h"
#include "trainer/backends/simd/winograd_rows.h"

#define KERNEL 3
#define MIN_CHANNELS 16
#define BAND_TILES 32      /* of a band, about */
#define MAX_WEIGHTS 8192   /* of a place: what fits the cache beside a band */
#define PLACES WINOGRAD_PLACES
#define TILE WINOGRAD_TILE

/* op->priv; for the gradient of the input, src is dy. */
struct winograd {
    const struct conv_rows *products;
    const struct winograd_rows *rows;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;
    size_t wide;             /* result channels computed at once: two vectors */
    size_t band, ntiles;     /* rows of tiles of a band, and tiles */
    size_t nthreads;
    size_t weights, scratch; /* floats: transformed weights; of one thread */
};

static const struct winograd_rows *choose(void)
{
#ifdef __x86_64__
    enum simd_isa isa = simd_isa();

    if (isa == SIMD_AVX512)
        return &winograd_rows_avx512;
    if (isa == SIMD_AVX2)
        return &winograd_rows_avx2;
#endif
    return NULL;
}

static bool supports(const struct op *op)
{
    const struct winograd_rows *rows = choose();
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t ns = tensor_channels(src), nd = tensor_channels(dst);

    return rows && op->attr.kernel == KERNEL && op->attr.stride <= 1 &&
           ns % rows->lanes == 0 && ns >= MIN_CHANNELS &&
           nd % (2 * rows->lanes) == 0 && ns * nd <= MAX_WEIGHTS &&
           src->shape.dim[DIM_H] % TILE == 0 && src->shape.dim[DIM_W] % TILE == 0;
}

static int prepare(struct op *op, struct err *e)
{
    struct winograd *g = calloc(1, sizeof *g);
    const struct tensor *src = op->in[0];

    if (!g)
        return err_set(e, ERR_INTERNAL, "out of memory");
    g->products = conv_rows_best();
    g->rows = choose();
    g->nimages = (size_t)src->shape.dim[DIM_N];
    g->height = (size_t)src->shape.dim[DIM_H];
    g->width = (size_t)src->shape.dim[DIM_W];
    g->src_channels = tensor_channels(src);
    g->dst_channels = tensor_channels(op->out[0]);
    g->wide = 2 * g->rows->lanes;
    g->band = BAND_TILES / (g->width / TILE) > 1 ? BAND_TILES / (g->width / TILE) : 1;
    g->ntiles = g->band * (g->width / TILE);
    g->nthreads = simd_threads();
    g->weights = PLACES * g->src_channels * g->dst_channels;
    g->scratch = PLACES * g->ntiles * (g->src_channels + g->dst_channels);
    op->workspace_size = (g->weights + g->nthreads * g->scratch + g->dst_channels +
                          g->width * g->src_channels) * sizeof(float);
    op->priv = g;
    return 0;
}

/* G of three values that lie `step` apart. */
static void transform_three(const float *g, size_t step, float *dst, size_t dst_step)
{
    float a = g[0], b = g[step], c = g[2 * step];

    dst[0] = a;
    dst[dst_step] = (a + b + c) / 2;
    dst[2 * dst_step] = (a - b + c) / 2;
    dst[3 * dst_step] = c;
}

/* packed[place][block of d][s][d]; turned: for the gradient of the input. */
static void pack_result(const struct winograd *g, const float *w, bool turned, size_t d,
                        float *packed)
{
    size_t ns = g->src_channels, nd = g->dst_channels;

    for (size_t s = 0; s < ns; s++) {
        const float *tap = w + (turned ? s * nd + d : d * ns + s) * KERNEL * KERNEL;
        float window[KERNEL * KERNEL], half[4 * KERNEL], all[PLACES];

        for (size_t k = 0; k < (size_t)KERNEL * KERNEL; k++)
            window[k] = tap[turned ? KERNEL * KERNEL - 1 - k : k];
        for (size_t j = 0; j < KERNEL; j++)
            transform_three(window + j, KERNEL, half + j, KERNEL);
        for (size_t i = 0; i < 4; i++)
            transform_three(half + i * KERNEL, 1, all + i * 4, 1);
        for (size_t p = 0; p < PLACES; p++)
            packed[((p * nd + d / g->wide * g->wide) * ns) + s * g->wide + d % g->wide] = all[p];
    }
}

static void compute_products(const struct winograd *g, const float *packed, const float *zeros,
                             size_t ntiles, const float *d, float *m)
{
    size_t ns = g->src_channels, nd = g->dst_channels;

    for (size_t p = 0; p < PLACES; p++, d += g->ntiles * ns, m += g->ntiles * nd)
        for (size_t at = 0; at < nd; at += g->wide)
            g->products->forward(&d, 1, ns, ns, packed + (p * nd + at) * ns, zeros, ntiles, nd,
                                 2, m + at);
}

/* Rows of tiles [from, to) of an image; zeros: a row of the source. */
static void correlate_band(const struct winograd *g, const float *src, const float *packed,
                           const float *bias, const float *zeros, size_t from, size_t to,
                           float *scratch, float *dst)
{
    size_t ns = g->src_channels, nd = g->dst_channels, across = g->width / TILE;
    float *d = scratch, *m = scratch + PLACES * g->ntiles * ns;

    for (size_t t = from; t < to; t++) {
        const float *rows[WINOGRAD_SIDE];

        for (size_t i = 0; i < WINOGRAD_SIDE; i++) {
            size_t y = TILE * t + i - 1; /* wraps: too large as well */

            rows[i] = y < g->height ? src + y * g->width * ns : zeros;
        }
        g->rows->source(rows, g->width, ns, zeros, g->ntiles * ns, d + (t - from) * across * ns);
    }
    compute_products(g, packed, zeros, (to - from) * across, d, m);
    for (size_t t = from; t < to; t++) {
        float *rows[TILE] = {dst + TILE * t * g->width * nd, dst + (TILE * t + 1) * g->width * nd};

        g->rows->result(m + (t - from) * across * nd, g->ntiles * nd, g->width, nd, bias, rows);
    }
}

/* Workspace: weights, bias, zeros, scratch for each thread. */
static void correlate(const struct op *op, const float *bias, bool turned)
{
    const struct winograd *g = op->priv;
    size_t down = g->height / TILE, nbands = (down + g->band - 1) / g->band;
    size_t ns = g->src_channels, nd = g->dst_channels, image = g->height * g->width;
    float *packed = op->workspace, *copy = packed + g->weights, *zeros = copy + nd;
    float *scratch = zeros + g->width * ns;
    const float *src = op->in[0]->data, *w = op->in[1]->data;
    float *dst = op->out[0]->data;

    memset(zeros, 0, g->width * ns * sizeof *zeros);
    memset(copy, 0, nd * sizeof *copy);
    if (bias)
        memcpy(copy, bias, nd * sizeof *copy);
#pragma omp parallel num_threads(g->nthreads)
    {
#pragma omp for schedule(static)
        for (size_t d = 0; d < nd; d++)
            pack_result(g, w, turned, d, packed);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < g->nimages * nbands; i++) {
            size_t from = i % nbands * g->band, to = from + g->band < down ? from + g->band : down;

            correlate_band(g, src + i / nbands * image * ns, packed, copy, zeros, from, to,
                           scratch + simd_thread() * g->scratch, dst + i / nbands * image * nd);
        }
    }
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, op->in[2]->data, false);
    return 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, NULL, true);
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

const struct kernel simd_winograd = {&conv2d_kind, supports, prepare, run_conv2d, release};
const struct kernel simd_winograd_grad_input = {&conv2d_grad_input_kind, supports, prepare,
                                                run_grad_input, release};
