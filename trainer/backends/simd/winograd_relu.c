/* SPDX-License-Identifier: BSD-3-Clause */
/* A 3x3 convolution with its ReLU, and what is behind it at inference: done to rows of results while they are
 * in the cache, which for a head go no further. */
#include "config.h"
#include "trainer/backends/simd/winograd.h"

#include "trainer/backends/simd/head.h"
#include "trainer/backends/simd/max_pool2d.h"
#include "trainer/backends/simd/simd.h"

/* The convolution alone, to y. */
static struct op first_of(const struct op *op, struct tensor *y)
{
    return (struct op){.kind = &conv2d_relu_kind, .attr = op->attr, .in = {op->in[0], op->in[1], op->in[2]},
                       .out = {y}, .workspace = op->workspace, .priv = op->priv};
}

void winograd_relu_pool(const struct op *op, const struct winograd *g, const struct roles *roles, const float *m,
                        const float *bias, const struct winograd_band *b, float *lines)
{
    size_t n = g->dst_channels, line = g->width * n;

    winograd_conv_write(g, roles, m, bias, b, lines);
    for (size_t row = b->from * g->rows->tile; row < b->to * g->rows->tile; row += 2)
        max_pool2d_rows(op->out[0]->data + row * line + b->x * n, line, b->width, n,
                        op->out[1]->data + (row * line / 2 + b->x * n) / 2);
}

static bool supports_max_pool2d(const struct op *op)
{
    struct op first = first_of(op, op->out[0]), pool = {.kind = &max_pool2d_kind, .in = {op->out[0]}};

    return winograd_supports(&first) && max_pool2d_supports(&pool);
}

static int prepare_max_pool2d(struct op *op, struct err *e)
{
    struct op first = first_of(op, op->out[0]);

    if (simd_winograd_relu.prepare(&first, e) < 0)
        return -1;
    op->priv = first.priv;
    op->workspace_size = first.workspace_size;
    return 0;
}

static int run_max_pool2d(struct op *op, struct exec *x, struct err *e)
{
    struct op first = first_of(op, op->out[0]);

    (void)x;
    (void)e;
    winograd_conv_run_as(&first, &(struct winograd_conv_ends){NULL, winograd_relu_pool, op});
    return 0;
}

/* What only lines hold: of no data. */
static struct tensor between_of(const struct op *op)
{
    struct tensor y = {.shape = op->in[0]->shape};

    y.shape.dim[DIM_C] = op->in[1]->shape.dim[0];
    return y;
}

static void write_head(const struct op *op, const struct winograd *g, const struct roles *roles, const float *m,
                       const float *bias, const struct winograd_band *b, float *lines)
{
    size_t n = g->dst_channels, tile = g->rows->tile;
    float *rows[WINOGRAD_SIDE];

    (void)roles;
    for (size_t i = 0; i < tile; i++)
        rows[i] = lines + i * b->width * n;
    for (size_t r = b->from; r < b->to; r++, m += b->width / tile * n) {
        g->rows->result(m, g->dst_place, b->width, n, n, bias, g->relu, rows);
        for (size_t i = 0; i < tile; i++)
            head_rows_float.dot(rows[i], b->width, op->in[3]->data, n, op->in[4]->data[0],
                                op->out[0]->data + (r * tile + i) * g->width + b->x);
    }
}

static bool supports_conv2d(const struct op *op)
{
    struct tensor y = between_of(op);
    struct op first = first_of(op, &y), second = {.attr = {.kernel = 1}};

    return winograd_supports(&first) && head_rows_of(&second, &y, op->out[0]);
}

static int prepare_conv2d(struct op *op, struct err *e)
{
    struct tensor y = between_of(op);
    struct op first = first_of(op, &y);

    if (winograd_conv_prepare_normed(&first, e) < 0)
        return -1;
    op->priv = first.priv;
    op->workspace_size = first.workspace_size;
    return 0;
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    struct tensor y = between_of(op);
    struct op first = first_of(op, &y);

    (void)x;
    (void)e;
    winograd_conv_run_as(&first, &(struct winograd_conv_ends){NULL, write_head, op});
    return 0;
}

const struct kernel simd_winograd_relu_max_pool2d = {&conv2d_relu_max_pool2d_kind, supports_max_pool2d,
                                                     prepare_max_pool2d, run_max_pool2d, winograd_release};
const struct kernel simd_winograd_relu_conv2d = {&conv2d_relu_conv2d_kind, supports_conv2d, prepare_conv2d,
                                                 run_conv2d, winograd_release};
