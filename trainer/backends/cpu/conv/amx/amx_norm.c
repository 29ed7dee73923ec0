/* SPDX-License-Identifier: BSD-3-Clause */
/* A batch norm with its ReLU, and the 3x3 convolution of bf16 by tiles behind it: the tensor between is
 * neither written nor kept, its lines are made where the convolution reads them. */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_conv.h"

#include <stdlib.h>

#include "trainer/backends/cpu/conv/amx/amx_kernels.h"
#include "trainer/backends/cpu/conv/conv_parts.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"

#define ALIGN 64

static bool supports(const struct op *op)
{
    struct conv_parts p = conv_parts_forward(op);

    return norm_rows_fit(p.norm.in[0]) && simd_batch_norm.supports(&p.norm) &&
           simd_amx_conv.supports(&p.conv);
}

static void release(struct op *op)
{
    struct conv_parts *p = op->priv;

    if (p->norm.priv)
        simd_batch_norm.release(&p->norm);
    if (p->conv.priv)
        amx_conv_release(&p->conv);
    free(p);
}

/* The norm's workspace comes first. */
static size_t norm_size(const struct conv_parts *p)
{
    return (p->norm.workspace_size + ALIGN - 1) / ALIGN * ALIGN;
}

static int prepare(struct op *op, struct err *e)
{
    struct conv_parts *p = malloc(sizeof *p);

    if (!p)
        return err_set(e, ERR_INTERNAL, "out of memory");
    *p = conv_parts_forward(op);
    op->priv = p;
    if (simd_batch_norm.prepare(&p->norm, e) < 0 || amx_conv_prepare(&p->conv, e) < 0) {
        release(op);
        op->priv = NULL;
        return -1;
    }
    op->workspace_size = norm_size(p) + p->conv.workspace_size;
    return 0;
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct conv_parts *p = op->priv;
    struct batch_norm_map map;

    p->norm.workspace = op->workspace;
    p->conv.workspace = (char *)op->workspace + norm_size(p);
    if (batch_norm_statistics(&p->norm, x, &map, e) < 0)
        return -1;
    amx_conv_run_normed(&p->conv, &map);
    return 0;
}

const struct kernel simd_amx_norm = {
    .kind = &batch_norm_relu_conv2d_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release, .may = OP_BARE | OP_GIVES_MOMENTS | OP_TAKES_MOMENTS, .types =
        KERNEL_HALVES};
