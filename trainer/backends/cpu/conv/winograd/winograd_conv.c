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

void winograd_conv_write(const struct winograd *g, const struct tensor *dst, const float *m,
                         const float *bias, const struct winograd_band *b)
{
    size_t n = g->dst_channels, tile = g->rows->tile, line = g->width * n;
    float *rows[WINOGRAD_SIDE];

    for (size_t r = b->from; r < b->to; r++, m += b->width / tile * n) {
        for (size_t i = 0; i < tile; i++)
            rows[i] = dst->data + (r * tile + i) * line + b->x * n;
        g->rows->result(m, g->dst_place, b->width, n, bias, g->relu, rows);
    }
}

/* The pointers into the workspace during one run. */
struct winograd_conv_workspace {
    float *packed, *bias, *zeros, *scratch;
};

static struct winograd_conv_workspace winograd_conv_workspace_of(const struct winograd *g,
                                                                 struct simd_workspace *w)
{
    return (struct winograd_conv_workspace){
        .packed = simd_take(w, g->weights, sizeof(float)),
        .bias = simd_take(w, g->bias, sizeof(float)),
        .zeros = simd_take(w, g->zeros, sizeof(float)),
        .scratch = simd_take(w, g->nthreads * g->scratch, sizeof(float)),
    };
}

static void correlate_part(const struct winograd *g, const struct conv_operands *operands,
                           const struct winograd_conv_workspace *w, const struct winograd_band *b)
{
    float *scratch = w->scratch + simd_thread() * g->scratch;
    float *m = scratch + g->places * g->src_place;

    winograd_transform_source(g, operands->src, w->zeros, b, scratch);
    for (size_t p = 0; p < g->places; p++) {
        winograd_fetch_source(g, operands->src, b, p);
        winograd_conv_fetch(g, operands->dst, b, p);
        winograd_conv_multiply(g, p, w->packed, w->zeros, winograd_band_tiles(g, b), scratch, m);
    }
    winograd_conv_write(g, operands->dst, m, w->bias, b);
}

static int winograd_conv_run(struct op *op, struct exec *x, struct err *e)
{
    const struct winograd *g = op->priv;
    struct conv_operands operands = conv_operands_of(op);
    const struct winograd_conv_workspace w =
        winograd_conv_workspace_of(g, &(struct simd_workspace){op->workspace, 0});
    size_t nrows = g->nimages * g->down, nd = g->dst_channels;

    memset(w.zeros, 0, g->zeros * sizeof *w.zeros);
    memset(w.bias, 0, nd * sizeof *w.bias);
    if (operands.bias)
        memcpy(w.bias, operands.bias->data, nd * sizeof *w.bias);
#pragma omp parallel num_threads(g->nthreads)
    {
        winograd_conv_pack(g, operands.weights->data, op->kind == &conv2d_grad_input_kind,
                           w.packed);
#pragma omp for schedule(dynamic, g->run)
        for (size_t from = 0; from < nrows; from += g->band) {
            struct winograd_band b = winograd_band_of(g, from, nrows);

            for (; b.x < g->width; winograd_band_on(g, &b))
                correlate_part(g, &operands, &w, &b);
        }
    }
    return 0;
}

static int winograd_conv_prepare(struct op *op, struct err *e)
{
    struct conv_operands operands = conv_operands_of(op);
    struct winograd g = winograd_of(&operands);
    struct simd_workspace w = {0};

    g.relu = op->kind == &conv2d_relu_kind;
    winograd_conv_workspace_of(&g, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &g, sizeof g, e);
}

#define KERNEL_OF(_kind) \
    .kind = &_kind, .supports = winograd_supports, .prepare = winograd_conv_prepare, \
    .run = winograd_conv_run, .release = simd_release

const struct kernel simd_winograd = {KERNEL_OF(conv2d_kind)};
const struct kernel simd_winograd_relu = {KERNEL_OF(conv2d_relu_kind)};
const struct kernel simd_winograd_grad_input = {KERNEL_OF(conv2d_grad_input_kind)};
