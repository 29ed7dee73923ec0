/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands in front of a convolution with its ReLU, or behind it, one op after the other; a tensor in between
 * lies in the workspace, and what the ops need behind it. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#define ALIGN 64
#define MAX_OPS 3

struct chain {
    struct tensor between; /* of no size where there is none */
    struct op ops[MAX_OPS];
    const struct kernel *kernels[MAX_OPS];
    int n;
};

static void add(struct chain *c, const struct kernel *kernel, bool relu, const struct op *op)
{
    c->ops[c->n] = *op;
    c->ops[c->n].kind = kernel->kind;
    c->ops[c->n].attr.relu = relu;
    c->kernels[c->n++] = kernel;
}

/* The tensor between, with the pixels of t and n channels. */
static struct tensor *between(struct chain *c, const struct tensor *t, int64_t n)
{
    c->between.shape = t->shape;
    c->between.shape.dim[DIM_C] = n;
    return &c->between;
}

/* c stays where it is: its ops point into it. There is a front, or a head, not both. */
static void split(const struct op *op, struct chain *c)
{
    struct tensor *const *in = op->in, *const *out = op->out, *y = NULL;
    bool up = op->kind == &concat_conv2d_kind;
    struct op conv = *op;

    *c = (struct chain){.n = 0};
    conv.in[OP_FRONT_W] = conv.in[OP_FRONT_B] = conv.in[OP_HEAD_W] = conv.in[OP_HEAD_B] = NULL;
    conv.out[OP_OUT_POOLED] = NULL;
    if (in[OP_FRONT_W]) {
        y = conv.in[0] = between(c, in[up ? 1 : 0], in[OP_FRONT_W]->shape.dim[up ? 1 : 0]);
        add(c, up ? &ref_conv_transpose2d : &ref_conv2d, !up,
            &(struct op){.attr = op->attr, .in = {in[0], in[OP_FRONT_W], in[OP_FRONT_B]}, .out = {y}});
    } else if (in[OP_HEAD_W]) {
        y = conv.out[0] = between(c, in[0], in[1]->shape.dim[0]);
    }
    add(c, up ? &ref_concat_conv2d : &ref_conv2d, true, &conv);
    if (in[OP_HEAD_W])
        add(c, &ref_conv2d, false,
            &(struct op){.attr = {.kernel = 1}, .in = {y, in[OP_HEAD_W], in[OP_HEAD_B]}, .out = {out[0]}});
    if (out[OP_OUT_POOLED])
        add(c, &ref_max_pool2d, false, &(struct op){.in = {out[0]}, .out = {out[OP_OUT_POOLED]}});
}

static size_t between_size(const struct chain *c)
{
    return c->between.shape.ndim ? (tensor_nbytes(&c->between) + ALIGN - 1) / ALIGN * ALIGN : 0;
}

static int prepare(struct op *op, struct err *e)
{
    struct chain c;
    size_t most = 0;

    split(op, &c);
    for (int i = 0; i < c.n; i++) {
        if (c.kernels[i]->prepare && c.kernels[i]->prepare(&c.ops[i], e) < 0)
            return -1;
        most = c.ops[i].workspace_size > most ? c.ops[i].workspace_size : most;
    }
    op->workspace_size = between_size(&c) + most;
    return 0;
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct chain c;

    split(op, &c);
    c.between.data = op->workspace;
    for (int i = 0; i < c.n; i++) {
        c.ops[i].workspace = (char *)op->workspace + between_size(&c);
        if (c.kernels[i]->run(&c.ops[i], x, e) < 0)
            return -1;
    }
    return 0;
}

const struct kernel ref_conv2d_ends = {
    .kind = &conv2d_kind, .prepare = prepare, .run = run,
    .may = OP_HAS_FRONT | OP_HAS_HEAD | OP_GIVES_POOLED, .must = OP_RELU};
const struct kernel ref_concat_conv2d_front = {
    .kind = &concat_conv2d_kind, .prepare = prepare, .run = run, .must = OP_RELU | OP_HAS_FRONT};
