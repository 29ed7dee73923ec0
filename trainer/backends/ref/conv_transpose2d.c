/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposed convolution. The window is as large as the stride, so every input pixel determines 2x2
 * output pixels of its own. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <string.h>

#include "trainer/backends/ref/chunks.h"

/* The small tensor is x or dx; the large one, y or dy, has 2h x 2w pixels. */
struct geometry {
    size_t n, h, w;
    size_t in_channels, out_channels;
};

static struct geometry ref_conv_transpose2d_geometry_of(const struct tensor *small,
                                                        const struct tensor *large)
{
    return (struct geometry){(size_t)small->shape.dim[DIM_N], (size_t)small->shape.dim[DIM_H],
                             (size_t)small->shape.dim[DIM_W], tensor_channels(small),
                             tensor_channels(large)};
}

/* Returns the index of pixel (tap / 2, tap % 2) of the 2x2 pixels that belong to pixel `column` of
 * `row`; rows count over all images. */
static size_t large_pixel(const struct geometry *g, size_t row, size_t column, size_t tap)
{
    return (2 * row + tap / 2) * 2 * g->w + 2 * column + tap % 2;
}

static int ref_conv_transpose2d_prepare_packed(struct op *op, struct err *e)
{
    op->workspace_size = tensor_count(op->in[1]) * sizeof(float);
    return 0;
}

static int ref_conv_transpose2d_run(struct op *op, struct exec *x, struct err *e)
{
    struct geometry g = ref_conv_transpose2d_geometry_of(op->in[0], op->out[0]);
    const float *src = op->in[0]->data, *w = op->in[1]->data, *bias = op->in[2]->data;
    float *dst = op->out[0]->data, *packed = op->workspace; /* [2][2][I][O] */

    for (size_t i = 0; i < g.in_channels; i++)
        for (size_t o = 0; o < g.out_channels; o++)
            for (size_t k = 0; k < 4; k++)
                packed[(k * g.in_channels + i) * g.out_channels + o] = *w++;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < g.n * g.h; row++)
        for (size_t c = 0; c < 4 * g.w; c++) {
            size_t column = c / 4, k = c % 4;
            float *restrict d = dst + large_pixel(&g, row, column, k) * g.out_channels;
            const float *s = src + (row * g.w + column) * g.in_channels;
            const float *p = packed + k * g.in_channels * g.out_channels;

            memcpy(d, bias, g.out_channels * sizeof *d);
            for (size_t i = 0; i < g.in_channels; i++, p += g.out_channels)
                for (size_t o = 0; o < g.out_channels; o++)
                    d[o] += s[i] * p[o];
        }
    return 0;
}

static int ref_conv_transpose2d_run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    struct geometry g = ref_conv_transpose2d_geometry_of(op->out[0], op->in[0]);
    const float *src = op->in[0]->data, *w = op->in[1]->data;
    float *dst = op->out[0]->data, *packed = op->workspace; /* [2][2][O][I] */

    for (size_t i = 0; i < g.in_channels; i++)
        for (size_t o = 0; o < g.out_channels; o++)
            for (size_t k = 0; k < 4; k++)
                packed[(k * g.out_channels + o) * g.in_channels + i] = *w++;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < g.n * g.h; row++)
        for (size_t column = 0; column < g.w; column++) {
            float *restrict d = dst + (row * g.w + column) * g.in_channels;
            const float *p = packed;

            memset(d, 0, g.in_channels * sizeof *d);
            for (size_t k = 0; k < 4; k++) {
                const float *s = src + large_pixel(&g, row, column, k) * g.out_channels;

                for (size_t o = 0; o < g.out_channels; o++, p += g.in_channels)
                    for (size_t i = 0; i < g.in_channels; i++)
                        d[i] += s[o] * p[i];
            }
        }
    return 0;
}

/* Sums one input channel and one tap for all output channels: rows in float, all rows in double. */
static void ref_conv_transpose2d_sum_tap(const struct geometry *g, const float *dy, const float *x,
                                         size_t tap, size_t i, float *restrict row_sum,
                                         double *restrict sum)
{
    memset(sum, 0, g->out_channels * sizeof *sum);
    for (size_t row = 0; row < g->n * g->h; row++) {
        memset(row_sum, 0, g->out_channels * sizeof *row_sum);
        for (size_t column = 0; column < g->w; column++) {
            const float *d = dy + large_pixel(g, row, column, tap) * g->out_channels;
            float s = x[(row * g->w + column) * g->in_channels + i];

            for (size_t o = 0; o < g->out_channels; o++)
                row_sum[o] += s * d[o];
        }
        for (size_t o = 0; o < g->out_channels; o++)
            sum[o] += (double)row_sum[o];
    }
}

/* Workspace: sums in double, what chunks_sum() needs for the bias, a row of sums in float for each
 * tap and input channel. */
static int ref_conv_transpose2d_prepare_grad_weights(struct op *op, struct err *e)
{
    op->workspace_size = tensor_count(op->out[0]) * (sizeof(double) + sizeof(float)) +
                         chunks_workspace(tensor_count(op->out[1])) * sizeof(double);
    return 0;
}

static int ref_conv_transpose2d_run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *src = op->in[1];
    struct geometry g = ref_conv_transpose2d_geometry_of(src, dy);
    size_t ntasks = 4 * g.in_channels, n = g.out_channels;
    double *sums = op->workspace, *bias_sums = sums + ntasks * n;
    float *row_sums = (float *)(bias_sums + chunks_workspace(n)), *dw = op->out[0]->data;

#pragma omp parallel for schedule(static)
    for (size_t t = 0; t < ntasks; t++) {
        size_t tap = t % 4, i = t / 4;

        ref_conv_transpose2d_sum_tap(&g, dy->data, src->data, tap, i, row_sums + t * n,
                                     sums + t * n);
        for (size_t o = 0; o < n; o++)
            dw[(i * n + o) * 4 + tap] = (float)sums[t * n + o];
    }
    chunks_sum(dy->data, NULL, tensor_pixels(dy), n, bias_sums);
    for (size_t o = 0; o < n; o++)
        op->out[1]->data[o] = (float)bias_sums[o];
    return 0;
}

const struct kernel ref_conv_transpose2d = {
    .kind = &conv_transpose2d_kind, .prepare = ref_conv_transpose2d_prepare_packed,
    .run = ref_conv_transpose2d_run};
const struct kernel ref_conv_transpose2d_grad_input = {
    .kind = &conv_transpose2d_grad_input_kind, .prepare = ref_conv_transpose2d_prepare_packed,
    .run = ref_conv_transpose2d_run_grad_input};
const struct kernel ref_conv_transpose2d_grad_weights = {
    .kind = &conv_transpose2d_grad_weights_kind,
    .prepare = ref_conv_transpose2d_prepare_grad_weights,
    .run = ref_conv_transpose2d_run_grad_weights};
