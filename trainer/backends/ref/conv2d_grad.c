/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a convolution: the kernels of each, one after the other in the same memory, behind a
 * norm's gradient where that comes late. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/late.h"

/* How the gradients of a kind of convolution are made. */
struct recipe {
    const struct op_kind *kind;
    const struct kernel *weights, *input;
    int nparts; /* tensors in front of the convolution */
};

static const struct recipe recipes[] = {
    {&conv2d_grad_kind, &ref_conv2d_grad_weights, &ref_conv2d_grad_input, 1},
    {&concat_conv2d_grad_kind, &ref_concat_conv2d_grad_weights, &ref_concat_conv2d_grad_input, 2},
    {&conv_transpose2d_grad_kind, &ref_conv_transpose2d_grad_weights,
     &ref_conv_transpose2d_grad_input, 1},
};

/* The two ops that it stands for, and their kernels; dy is the first input of both. */
static void split(const struct op *op, struct op *parts, const struct kernel **kernels)
{
    const struct recipe *r = recipes;

    while (r->kind != op->kind)
        r++;
    int n = r->nparts;

    kernels[0] = r->weights;
    kernels[1] = r->input;
    parts[0] = (struct op){.kind = r->weights->kind, .attr = op->attr,
                           .in = {op->in[0], op->in[1], n > 1 ? op->in[2] : NULL},
                           .out = {op->out[n], op->out[n + 1]}};
    parts[1] = (struct op){.kind = r->input->kind, .attr = op->attr, .in = {op->in[0], op->in[1 + n]},
                           .out = {op->out[0], n > 1 ? op->out[1] : NULL}};
}

static int prepare(struct op *op, struct err *e)
{
    const struct kernel *kernels[2];
    struct op parts[2];

    split(op, parts, kernels);
    op->workspace_size = 0;
    for (int i = 0; i < 2; i++) {
        if (kernels[i]->prepare(&parts[i], e) < 0)
            return -1;
        if (op->workspace_size < parts[i].workspace_size)
            op->workspace_size = parts[i].workspace_size;
    }
    op->workspace_size += late_size(op);
    return 0;
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct tensor late, *dy = op->in[0];
    const struct kernel *kernels[2];
    struct op parts[2];

    split(op, parts, kernels);
    if (late_gradient(op, &late, op->workspace) == &late)
        dy = &late;
    for (int i = 0; i < 2; i++) {
        parts[i].in[0] = dy;
        parts[i].workspace = (char *)op->workspace + late_size(op);
        if (kernels[i]->run(&parts[i], x, e) < 0)
            return -1;
    }
    return 0;
}

const struct kernel ref_conv2d_grad = {
    .kind = &conv2d_grad_kind, .prepare = prepare, .run = run, .may = OP_BARE | OP_TAKES_LATE};
const struct kernel ref_concat_conv2d_grad = {
    .kind = &concat_conv2d_grad_kind, .prepare = prepare, .run = run, .may = OP_TAKES_LATE};
const struct kernel ref_conv_transpose2d_grad = {
    .kind = &conv_transpose2d_grad_kind, .prepare = prepare, .run = run};
