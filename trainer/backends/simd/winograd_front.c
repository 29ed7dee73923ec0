/* SPDX-License-Identifier: BSD-3-Clause */
/* A 3x3 convolution with its ReLU at inference, and what makes its input: a first convolution, of too few channels
 * for Winograd's transforms, or a transposed one. Rows of that are made on the way to the transforms. */
#include "config.h"
#include "trainer/backends/simd/winograd.h"

#include <stdlib.h>

#include "trainer/backends/simd/conv2d.h"
#include "trainer/backends/simd/conv_transpose2d.h"
#include "trainer/backends/simd/max_pool2d.h"
#include "trainer/backends/simd/simd.h"

#define ALIGN 64

/* op->priv: the ops that it stands for; between has no data. The front's workspace comes first. */
struct parts {
    struct tensor between;
    struct op front, conv;
};

/* p stays where it is: its ops point into it. */
static void split(const struct op *op, struct parts *p)
{
    bool up = op->kind == &conv_transpose2d_concat_conv2d_relu_kind;
    struct tensor *const *in = op->in, *y = &p->between;

    *p = (struct parts){
        .between = {.shape = in[up ? 3 : 0]->shape},
        .front = {.kind = up ? &conv_transpose2d_kind : &conv2d_relu_kind, .in = {in[0], in[1], in[2]}, .out = {y}},
        .conv = {.kind = up ? &concat_conv2d_relu_kind : &conv2d_relu_kind, .attr = op->attr,
                 .in = {y, in[3], in[4], up ? in[5] : NULL}, .out = {op->out[0]}}};
    y->shape.dim[DIM_C] = in[1]->shape.dim[up ? 1 : 0];
    if (!up)
        p->front.attr = op->attr;
}

static bool supports_conv2d(const struct op *op)
{
    struct op pool = {.kind = &max_pool2d_kind, .in = {op->out[0]}};
    struct parts p;

    split(op, &p);
    return simd_conv2d_relu.supports(&p.front) && !winograd_supports(&p.front) && winograd_supports(&p.conv) &&
           max_pool2d_supports(&pool);
}

static bool supports_transpose(const struct op *op)
{
    struct parts p;

    split(op, &p);
    return simd_conv_transpose2d.supports(&p.front) && winograd_supports(&p.conv);
}

static const struct kernel *front_of(const struct parts *p)
{
    return p->front.kind == &conv2d_relu_kind ? &simd_conv2d_relu : &simd_conv_transpose2d;
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
    if (front_of(p)->prepare(&p->front, e) < 0 || winograd_conv_prepare_normed(&p->conv, e) < 0) {
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

static struct parts *parts_of(const struct op *op)
{
    struct parts *p = op->priv;

    p->front.workspace = op->workspace;
    p->conv.workspace = (char *)op->workspace + front_size(p);
    return p;
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    struct parts *p = parts_of(op);
    struct roles_made made = {conv2d_rows, &p->front};

    (void)x;
    (void)e;
    conv2d_begin(&p->front);
    winograd_conv_run_as(&p->conv, &(struct winograd_conv_ends){&made, winograd_relu_pool, op});
    return 0;
}

static int run_transpose(struct op *op, struct exec *x, struct err *e)
{
    struct parts *p = parts_of(op);
    struct roles_made made = {transpose_rows, &p->front};

    (void)x;
    (void)e;
    conv_transpose2d_begin(&p->front);
    winograd_conv_run_as(&p->conv, &(struct winograd_conv_ends){&made, NULL, NULL});
    return 0;
}

const struct kernel simd_winograd_front_conv2d = {&conv2d_relu_conv2d_relu_max_pool2d_kind, supports_conv2d, prepare,
                                                  run_conv2d, release};
const struct kernel simd_winograd_front_transpose = {&conv_transpose2d_concat_conv2d_relu_kind, supports_transpose,
                                                     prepare, run_transpose, release};
