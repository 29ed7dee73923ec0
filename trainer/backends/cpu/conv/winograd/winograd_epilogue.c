/* SPDX-License-Identifier: BSD-3-Clause */
/* A 3x3 convolution with its ReLU and the max pooling or the head (a 1x1 convolution) behind it,
 * which is computed while rows of results are in the cache. The results that go into a head are
 * never written, those that are pooled are. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/head/head.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

static bool has_head(const struct op *op)
{
    return op->in[OP_HEAD_W] != NULL;
}

/* Returns the convolution alone. With a head its result is y, which has no memory: each thread
 * holds only the rows that it computes. */
static struct op first_of(const struct op *op, struct tensor *y)
{
    *y = (struct tensor){.shape = op->in[0]->shape};
    y->shape.dim[DIM_C] = op->in[1]->shape.dim[0];
    return (struct op){.kind = &conv2d_kind,
                       .attr = op->attr,
                       .in = {op->in[0], op->in[1], op->in[2]},
                       .out = {has_head(op) ? y : op->out[0]},
                       .workspace = op->workspace,
                       .priv = op->priv};
}

void winograd_epilogue_pool(const struct op *op, const struct winograd *g,
                            const struct conv_operands *operands, const float *m, const float *bias,
                            const struct winograd_band *b, float *lines)
{
    size_t n = g->dst_channels, line = g->width * n;

    (void)lines;
    winograd_conv_write(g, operands, m, bias, b);
    for (size_t row = b->from * g->rows->tile; row < b->to * g->rows->tile; row += 2)
        max_pool2d_rows(op->out[0]->data + row * line + b->x * n, line, b->width, n,
                        op->out[OP_OUT_POOLED]->data + (row * line / 2 + b->x * n) / 2);
}

static void write_head(const struct op *op, const struct winograd *g,
                       const struct conv_operands *operands, const float *m, const float *bias,
                       const struct winograd_band *b, float *lines)
{
    size_t n = g->dst_channels, tile = g->rows->tile;
    float *rows[WINOGRAD_SIDE];

    (void)operands;
    for (size_t i = 0; i < tile; i++)
        rows[i] = lines + i * b->width * n;
    for (size_t r = b->from; r < b->to; r++, m += b->width / tile * n) {
        g->rows->result(m, g->dst_place, b->width, n, n, bias, g->relu, rows);
        for (size_t i = 0; i < tile; i++)
            head_rows_dot(rows[i], b->width, op->in[OP_HEAD_W]->data, n,
                          op->in[OP_HEAD_B]->data[0],
                          op->out[0]->data + (r * tile + i) * g->width + b->x);
    }
}

static bool winograd_epilogue_supports(const struct op *op)
{
    struct tensor y;
    struct op first = first_of(op, &y), head = {.attr = {.kernel = 1}};
    struct op pool = {.kind = &max_pool2d_kind, .in = {op->out[0]}};

    return winograd_supports(&first) &&
           (has_head(op) ? head_supports(&head, &y, op->out[0])
                         : max_pool2d_supports(&pool));
}

static int winograd_epilogue_prepare(struct op *op, struct err *e)
{
    struct tensor y;
    struct op first = first_of(op, &y);

    if ((has_head(op) ? winograd_conv_prepare_copied : simd_winograd_relu.prepare)(&first, e) < 0)
        return -1;
    op->priv = first.priv;
    op->workspace_size = first.workspace_size;
    return 0;
}

static int winograd_epilogue_run(struct op *op, struct exec *x, struct err *e)
{
    struct tensor y;
    struct op first = first_of(op, &y);

    (void)x;
    (void)e;
    winograd_conv_run_fused(&first, &(struct winograd_conv_fusion){
        .epilogue = has_head(op) ? write_head : winograd_epilogue_pool, .op = op});
    return 0;
}

#define KERNEL_OF(_kind) \
    .kind = &_kind, .supports = winograd_epilogue_supports, .prepare = winograd_epilogue_prepare, \
    .run = winograd_epilogue_run, .release = simd_release

const struct kernel simd_winograd_pooled = {
    KERNEL_OF(conv2d_kind), .must = OP_RELU | OP_GIVES_POOLED};
const struct kernel simd_winograd_head = {KERNEL_OF(conv2d_kind), .must = OP_RELU | OP_HAS_HEAD};
