/* SPDX-License-Identifier: BSD-3-Clause */
/* A 3x3 convolution with its ReLU at inference and the op that produces its first source: a
 * convolution that has too few channels for Winograd's transforms (then max pooling follows), or a
 * transposed one (then there is a second source). The source is never written: its rows are
 * computed when the transform needs them. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include <stdlib.h>

#include "trainer/backends/cpu/conv/conv2d.h"
#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/backends/cpu/conv/conv_transpose2d.h"
#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#define ALIGN 64

/* op->priv: the two ops, and the tensor between them, which has no data. The workspace begins with
 * that of `front`. */
struct winograd_producer {
    struct tensor between;
    struct op front, conv;
};

static bool is_up(const struct op *op)
{
    return op->in[OP_SECOND] != NULL;
}

/* p must not move: its ops point into it. */
static void winograd_producer_split(const struct op *op, struct winograd_producer *p)
{
    bool up = is_up(op);
    struct tensor *const *in = op->in, *y = &p->between;

    *p = (struct winograd_producer){
        .between = {.shape = in[up ? OP_SECOND : 0]->shape},
        .front = {.kind = up ? &conv_transpose2d_kind : &conv2d_kind,
                  .in = {in[0], in[OP_PRODUCER_W], in[OP_PRODUCER_B]}, .out = {y}},
        .conv = {.kind = op->kind, .attr = op->attr,
                 .in = {y, in[1], in[2], [OP_SECOND] = in[OP_SECOND]}, .out = {op->out[0]}}};
    y->shape.dim[DIM_C] = in[OP_PRODUCER_W]->shape.dim[up ? 1 : 0];
    if (!up)
        p->front.attr = op->attr;
}

static const struct kernel *front_of(const struct winograd_producer *p)
{
    return p->front.kind == &conv2d_kind ? &simd_conv2d_relu : &simd_conv_transpose2d;
}

static bool winograd_producer_supports(const struct op *op)
{
    struct op pool = {.kind = &max_pool2d_kind, .in = {op->out[0]}};
    struct winograd_producer p;

    if (is_up(op) == (op->out[OP_OUT_POOLED] != NULL))
        return false;
    winograd_producer_split(op, &p);
    return front_of(&p)->supports(&p.front) && winograd_supports(&p.conv) &&
           (is_up(op) || (!winograd_supports(&p.front) && max_pool2d_supports(&pool)));
}

static size_t front_size(const struct winograd_producer *p)
{
    return simd_round_up(p->front.workspace_size, ALIGN);
}

static void winograd_producer_release(struct op *op)
{
    struct winograd_producer *p = op->priv;

    if (p->front.priv)
        front_of(p)->release(&p->front);
    if (p->conv.priv)
        simd_release(&p->conv);
    free(p);
    op->priv = NULL;
}

static int winograd_producer_prepare(struct op *op, struct err *e)
{
    struct winograd_producer *p = op->priv = malloc(sizeof *p);

    if (!p)
        return err_set(e, ERR_INTERNAL, "out of memory");
    winograd_producer_split(op, p);
    if (front_of(p)->prepare(&p->front, e) < 0 || winograd_conv_prepare_copied(&p->conv, e) < 0) {
        winograd_producer_release(op);
        return -1;
    }
    op->workspace_size = front_size(p) + p->conv.workspace_size;
    return 0;
}

static void conv2d_rows(const struct conv_producer *producer, size_t y, size_t n, float *const *to)
{
    conv2d_make_rows(producer->op, y, n, to);
}

static void transpose_rows(const struct conv_producer *producer, size_t y, size_t n,
                           float *const *to)
{
    for (size_t i = 0; i < n; i++)
        conv_transpose2d_row(producer->op, y + i, to[i]);
}

static int winograd_producer_run(struct op *op, struct exec *x, struct err *e)
{
    struct winograd_producer *p = op->priv;
    struct conv_producer producer = {is_up(op) ? transpose_rows : conv2d_rows, &p->front};

    p->front.workspace = op->workspace;
    p->conv.workspace = (char *)op->workspace + front_size(p);
    (is_up(op) ? conv_transpose2d_begin : conv2d_begin)(&p->front);
    winograd_conv_run_fused(
        &p->conv,
        &(struct winograd_conv_fusion){&producer, is_up(op) ? NULL : winograd_epilogue_pool, op});
    return 0;
}

const struct kernel simd_winograd_producer = {
    .kind = &conv2d_kind, .supports = winograd_producer_supports,
    .prepare = winograd_producer_prepare, .run = winograd_producer_run,
    .release = winograd_producer_release, .accepts = OP_HAS_SECOND | OP_GIVES_POOLED,
    .requires = OP_RELU | OP_HAS_PRODUCER};
