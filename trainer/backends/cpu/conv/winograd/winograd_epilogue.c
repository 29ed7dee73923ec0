/* SPDX-License-Identifier: BSD-3-Clause */
/* A 3x3 convolution with its ReLU and the max pooling behind it, which is computed while rows of
 * results are in the cache. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

void winograd_epilogue_pool(const struct op *op, const struct winograd *g,
                            const struct conv_operands *operands, const float *m, const float *bias,
                            const struct winograd_band *b)
{
    size_t n = g->dst_channels, line = g->width * n;

    winograd_conv_write(g, operands, m, bias, b);
    for (size_t row = b->from * g->rows->tile; row < b->to * g->rows->tile; row += 2)
        max_pool2d_rows(op->out[0]->data + row * line + b->x * n, line, b->width, n,
                        op->out[OP_OUT_POOLED]->data + (row * line / 2 + b->x * n) / 2);
}

static bool winograd_epilogue_supports(const struct op *op)
{
    struct op pool = {.kind = &max_pool2d_kind, .in = {op->out[0]}};

    return winograd_supports(op) && max_pool2d_supports(&pool);
}

static int winograd_epilogue_prepare(struct op *op, struct err *e)
{
    return simd_winograd_relu.prepare(op, e);
}

static int winograd_epilogue_run(struct op *op, struct exec *x, struct err *e)
{
    winograd_conv_run_fused(op, &(struct winograd_conv_fusion){.epilogue = winograd_epilogue_pool,
                                                               .op = op});
    return 0;
}

const struct kernel simd_winograd_pooled = {
    .kind = &conv2d_kind, .supports = winograd_epilogue_supports,
    .prepare = winograd_epilogue_prepare, .run = winograd_epilogue_run, .release = simd_release,
    .requires = OP_RELU | OP_GIVES_POOLED};
