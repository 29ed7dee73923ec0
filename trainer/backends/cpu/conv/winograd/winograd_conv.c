/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions by Winograd's transforms: forward, and the gradient of the input, which is the
 * convolution with the window rotated by 180 degrees and the input and output channels
 * exchanged. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include <string.h>

#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"

/* Writes packed[place][block of d][s][d], for source channels s and result channels d. */
void winograd_conv_pack(const struct winograd *g, const float *w, bool turned, float *packed)
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

void winograd_conv_fetch(const struct winograd *g, const struct tensor *t,
                         const struct winograd_band *b, size_t p)
{
    size_t line = g->rows->tile * g->width * tensor_channels(t);

    winograd_fetch(g, t, b->from * line, (b->to - b->from) * line, b, p);
}

void winograd_conv_multiply(const struct winograd *g, size_t p, const float *packed,
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

void winograd_conv_write(const struct winograd *g, const struct conv_operands *operands,
                         const float *m, const float *bias, const struct winograd_band *b)
{
    size_t tile = g->rows->tile;

    for (size_t r = b->from; r < b->to; r++, m += b->width / tile * g->dst_channels)
        for (size_t k = 0, at = 0; k < CONV_CONCAT && operands->dst[k];
             at += g->dst_channels_of[k++]) {
            size_t n = g->dst_channels_of[k], line = g->width * n;
            float *rows[WINOGRAD_SIDE];

            for (size_t i = 0; i < tile; i++)
                rows[i] = operands->dst[k]->data + (r * tile + i) * line + b->x * n;
            g->rows->result(m + at * g->rows->group, g->dst_place, b->width, n, g->dst_channels,
                            bias + at, g->relu, rows);
        }
}

/* continues: see winograd_transform_source(). */
static void correlate_part(const struct winograd *g, const struct conv_operands *operands,
                           const struct winograd_conv_fusion *fusion, const struct winograd_band *b,
                           bool continues, const float *packed, const float *bias,
                           const float *zeros, float *lines, float *scratch)
{
    float *m = scratch + g->places * g->src_place;

    winograd_transform_source(g, operands, zeros, b, continues, lines, scratch);
    for (size_t p = 0; p < g->places; p++) {
        for (int k = 0; k < CONV_CONCAT; k++) {
            if (operands->src[k] && operands->src[k]->data)
                winograd_fetch_source(g, operands->src[k], b, p);
            if (operands->dst[k])
                winograd_conv_fetch(g, operands->dst[k], b, p);
        }
        winograd_conv_multiply(g, p, packed, zeros, winograd_band_tiles(g, b), scratch, m);
    }
    if (fusion->epilogue)
        fusion->epilogue(fusion->op, g, operands, m, bias, b);
    else
        winograd_conv_write(g, operands, m, bias, b);
}

/* The pointers into the workspace during one run. */
struct winograd_conv_workspace {
    float *packed, *bias, *zeros, *scratch, *lines, *scale_shift;
    double *partials;
};

static struct winograd_conv_workspace winograd_conv_workspace_of(const struct op *op,
                                                                 const struct winograd *g,
                                                                 struct simd_workspace *w)
{
    return (struct winograd_conv_workspace){
        .packed = simd_take(w, g->weights, sizeof(float)),
        .bias = simd_take(w, g->bias, sizeof(float)),
        .zeros = simd_take(w, g->zeros, sizeof(float)),
        .scratch = simd_take(w, g->nthreads * g->scratch, sizeof(float)),
        .lines = simd_take(w, g->nthreads * g->lines, sizeof(float)),
        .scale_shift = simd_take(w, norm_prologue_size(op), sizeof(float)),
        .partials = simd_take(w, g->moments.npartials * g->moments.size, sizeof(double)),
    };
}

void winograd_conv_run_fused(struct op *op, const struct winograd_conv_fusion *fusion)
{
    const struct winograd *g = op->priv;
    struct conv_operands operands = conv_operands_of(op);
    const struct winograd_conv_workspace p =
        winograd_conv_workspace_of(op, g, &(struct simd_workspace){op->workspace, 0});
    size_t nrows = g->nimages * g->down, nd = g->dst_channels;
    size_t area = g->rows->tile * g->width;
    struct norm_prologue norm;

    norm_prologue_init(&norm, op, p.scale_shift);
    operands.producer = fusion->producer;
    if (norm_prologue_scale_shift(op))
        operands.norm[norm_prologue_source(op)] = &norm.map;
    memset(p.zeros, 0, g->zeros * sizeof *p.zeros);
    memset(p.bias, 0, nd * sizeof *p.bias);
    if (operands.bias)
        memcpy(p.bias, operands.bias->data, nd * sizeof *p.bias);
#pragma omp parallel num_threads(g->nthreads)
    {
        size_t done = nrows; /* where the last band ended; copies of its rows are still valid */

        winograd_conv_pack(g, operands.weights->data, op->kind == &conv2d_grad_kind, p.packed);
#pragma omp for schedule(dynamic, g->run)
        for (size_t from = 0; from < nrows; from += g->band) {
            struct winograd_band b = winograd_band_of(g, from, nrows);

            for (; b.x < g->width; winograd_band_on(g, &b))
                correlate_part(g, &operands, fusion, &b, from == done, p.packed, p.bias, p.zeros,
                               p.lines + simd_thread() * g->lines,
                               p.scratch + simd_thread() * g->scratch);
            done = b.to;
            if (g->moments.rows)
                norm_moments_partial(&g->moments, operands.dst[0]->data + from * area * nd,
                                     (b.to - b.from) * area,
                                     p.partials + from / g->band * g->moments.size);
        }
    }
    if (g->moments.rows)
        norm_moments_combine(&g->moments, p.partials, op->out[OP_OUT_MOMENTS]);
}

static int winograd_conv_run(struct op *op, struct exec *x, struct err *e)
{
    winograd_conv_run_fused(op, &(struct winograd_conv_fusion){0});
    return 0;
}

static int winograd_conv_prepare_with(struct op *op, bool copied, struct err *e)
{
    struct conv_operands operands = conv_operands_of(op);
    struct winograd g = winograd_of(&operands, copied || norm_prologue_scale_shift(op));
    struct simd_workspace w = {0};

    g.moments = norm_moments_of(op, (g.nimages * g.down + g.band - 1) / g.band);
    g.relu = op->attr.relu;
    winograd_conv_workspace_of(op, &g, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &g, sizeof g, e);
}

static int winograd_conv_prepare(struct op *op, struct err *e)
{
    return winograd_conv_prepare_with(op, false, e);
}

int winograd_conv_prepare_copied(struct op *op, struct err *e)
{
    return winograd_conv_prepare_with(op, true, e);
}

#define KERNEL_OF(_kind) \
    .kind = &_kind, .supports = winograd_supports, .prepare = winograd_conv_prepare, \
    .run = winograd_conv_run, .release = simd_release

const struct kernel simd_winograd = {
    KERNEL_OF(conv2d_kind),
    .accepts = OP_NO_BIAS | OP_GIVES_MOMENTS | OP_HAS_SECOND | OP_HAS_SCALE_SHIFT |
               OP_HAS_SECOND_SCALE_SHIFT};
const struct kernel simd_winograd_relu = {
    KERNEL_OF(conv2d_kind), .accepts = OP_HAS_SECOND, .requires = OP_RELU};
const struct kernel simd_winograd_grad_input = {
    KERNEL_OF(conv2d_grad_kind), .accepts = OP_HAS_SECOND,
    .requires = OP_INPUT_ONLY};
