/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensor that concat would write lies in the workspace, and what conv2d needs behind it. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#define ALIGN 64

/* The two ops that it stands for. */
struct pair {
    struct tensor whole; /* between them */
    struct op concat, conv;
};

static struct tensor join(const struct tensor *a, const struct tensor *b)
{
    struct tensor whole = *a;

    whole.shape.dim[DIM_C] += b->shape.dim[DIM_C];
    return whole;
}

static size_t whole_size(const struct pair *p)
{
    return (tensor_count(&p->whole) * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

/* p stays where it is: its ops point into it. */
static void split(const struct op *op, struct pair *p)
{
    struct tensor *const *in = op->in, *const *out = op->out, *whole = &p->whole;

    p->concat = p->conv = (struct op){.attr = op->attr};
    if (op->kind == &concat_conv2d_grad_input_kind) {
        p->whole = join(out[0], out[1]);
        p->conv.kind = &conv2d_grad_input_kind;
        p->conv.in[0] = in[0], p->conv.in[1] = in[1], p->conv.out[0] = whole;
        p->concat.in[0] = whole, p->concat.out[0] = out[0], p->concat.out[1] = out[1];
        return;
    }
    if (op->kind == &concat_conv2d_grad_weights_kind) {
        p->whole = join(in[1], in[2]);
        p->concat.in[0] = in[1], p->concat.in[1] = in[2];
        p->conv.kind = &conv2d_grad_weights_kind;
        p->conv.in[0] = in[0], p->conv.in[1] = whole;
        p->conv.out[0] = out[0], p->conv.out[1] = out[1];
    } else {
        p->whole = join(in[0], in[1]);
        p->concat.in[0] = in[0], p->concat.in[1] = in[1];
        p->conv.kind = &conv2d_kind;
        p->conv.in[0] = whole, p->conv.in[1] = in[2], p->conv.in[2] = in[3];
        p->conv.out[0] = out[0], p->conv.out[OP_OUT_MOMENTS] = out[OP_OUT_MOMENTS];
    }
    p->concat.out[0] = whole;
}

static int prepare(struct op *op, const struct kernel *conv, struct err *e)
{
    struct pair p;

    split(op, &p);
    if (conv->prepare(&p.conv, e) < 0)
        return -1;
    op->workspace_size = whole_size(&p) + p.conv.workspace_size;
    return 0;
}

/* Gives the ops their memory. */
static void split_bound(const struct op *op, struct pair *p)
{
    split(op, p);
    p->whole.data = op->workspace;
    p->conv.workspace = (char *)op->workspace + whole_size(p);
}

static int prepare_conv2d(struct op *op, struct err *e)
{
    return prepare(op, &ref_conv2d, e);
}

static int prepare_grad_input(struct op *op, struct err *e)
{
    return prepare(op, &ref_conv2d_grad_input, e);
}

static int prepare_grad_weights(struct op *op, struct err *e)
{
    return prepare(op, &ref_conv2d_grad_weights, e);
}

/* Both kinds. */
static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    struct pair p;

    split_bound(op, &p);
    return ref_concat.run(&p.concat, x, e) || ref_conv2d.run(&p.conv, x, e) ? -1 : 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    struct pair p;

    split_bound(op, &p);
    return ref_conv2d_grad_input.run(&p.conv, x, e) || ref_concat_grad.run(&p.concat, x, e) ? -1
                                                                                           : 0;
}

static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    struct pair p;

    split_bound(op, &p);
    return ref_concat.run(&p.concat, x, e) || ref_conv2d_grad_weights.run(&p.conv, x, e) ? -1 : 0;
}

const struct kernel ref_concat_conv2d = {
    .kind = &concat_conv2d_kind, .prepare = prepare_conv2d, .run = run_conv2d,
    .may = OP_RELU | OP_GIVES_MOMENTS};
const struct kernel ref_concat_conv2d_grad_input = {
    .kind = &concat_conv2d_grad_input_kind, .prepare = prepare_grad_input, .run = run_grad_input};
const struct kernel ref_concat_conv2d_grad_weights = {
    .kind = &concat_conv2d_grad_weights_kind, .prepare = prepare_grad_weights,
    .run = run_grad_weights};
