/* SPDX-License-Identifier: BSD-3-Clause */
/* A 3x3 convolution with its ReLU at inference, and what makes its input: a first convolution, of
 * too few channels for Winograd's transforms, or a transposed one. Rows of that are made on the way
 * to the transforms. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include <stdlib.h>

#include "trainer/backends/cpu/conv/conv2d.h"
#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/backends/cpu/conv/conv_transpose2d.h"
#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#define ALIGN 64

/* op->priv: the ops that it stands for; between has no data. The front's workspace comes first. */
struct parts {
    struct tensor between;
    struct op front, conv;
};

static bool is_up(const struct op *op)
{
    return op->in[OP_SECOND] != NULL;
}

/* p stays where it is: its ops point into it. */
static void split(const struct op *op, struct parts *p)
{
    bool up = is_up(op);
    struct tensor *const *in = op->in, *y = &p->between;

    *p = (struct parts){
        .between = {.shape = in[up ? OP_SECOND : 0]->shape},
        .front = {.kind = up ? &conv_transpose2d_kind : &conv2d_kind,
                  .in = {in[0], in[OP_PRODUCER_W], in[OP_PRODUCER_B]}, .out = {y}},
        .conv = {.kind = op->kind, .attr = op->attr,
                 .in = {y, in[1], in[2], [OP_SECOND] = in[OP_SECOND]}, .out = {op->out[0]}}};
    y->shape.dim[DIM_C] = in[OP_PRODUCER_W]->shape.dim[up ? 1 : 0];
    if (!up)
        p->front.attr = op->attr;
}

static const struct kernel *front_of(const struct parts *p)
{
    return p->front.kind == &conv2d_kind ? &simd_conv2d_relu : &simd_conv_transpose2d;
}

static bool supports(const struct op *op)
{
    struct op pool = {.kind = &max_pool2d_kind, .in = {op->out[0]}};
    struct parts p;

    if (is_up(op) == (op->out[OP_OUT_POOLED] != NULL))
        return false;
    split(op, &p);
    return front_of(&p)->supports(&p.front) && winograd_supports(&p.conv) &&
           (is_up(op) || (!winograd_supports(&p.front) && max_pool2d_supports(&pool)));
}

static size_t front_size(const struct parts *p)
{
    return (p->front.workspace_size + ALIGN - 1) / ALIGN * ALIGN;
}

static void release(struct op *op)
{
    struct parts *p = op->priv;

    if (p->front.priv)
        front_of(p)->release(&p->front);
    if (p->conv.priv)
        winograd_release(&p->conv);
    free(p);
    op->priv = NULL;
}

static int prepare(struct op *op, struct err *e)
{
    struct parts *p = op->priv = malloc(sizeof *p);

    if (!p)
        return err_set(e, ERR_INTERNAL, "out of memory");
    split(op, p);
    if (front_of(p)->prepare(&p->front, e) < 0 || winograd_conv_prepare_copied(&p->conv, e) < 0) {
        release(op);
        return -1;
    }
    op->workspace_size = front_size(p) + p->conv.workspace_size;
    return 0;
}

static void conv2d_rows(const struct roles_made *made, size_t y, size_t n, float *const *to)
{
    conv2d_make_rows(made->op, y, n, to);
}

static void transpose_rows(const struct roles_made *made, size_t y, size_t n, float *const *to)
{
    for (size_t i = 0; i < n; i++)
        conv_transpose2d_row(made->op, y + i, to[i]);
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct parts *p = op->priv;
    struct roles_made made = {is_up(op) ? transpose_rows : conv2d_rows, &p->front};

    (void)x;
    (void)e;
    p->front.workspace = op->workspace;
    p->conv.workspace = (char *)op->workspace + front_size(p);
    (is_up(op) ? conv_transpose2d_begin : conv2d_begin)(&p->front);
    winograd_conv_run_as(
        &p->conv, &(struct winograd_conv_ends){&made, is_up(op) ? NULL : winograd_relu_pool, op});
    return 0;
}

const struct kernel simd_winograd_front = {
    .kind = &conv2d_kind, .supports = supports, .prepare = prepare, .run = run, .release = release,
    .may = OP_HAS_SECOND | OP_GIVES_POOLED, .must = OP_RELU | OP_HAS_PRODUCER};
