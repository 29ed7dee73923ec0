/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a convolution: the kernels of each, one after the other in the same memory, behind a
 * norm's gradient where that comes late. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/late.h"

/* The two ops that it stands for; dy is the first input of both. */
static void split(const struct op *op, struct op *weights, struct op *input)
{
    bool whole = op->kind == &conv2d_grad_kind;
    int nparts = whole ? 1 : 2;

    *weights = (struct op){.kind = whole ? &conv2d_grad_weights_kind : &concat_conv2d_grad_weights_kind,
                           .attr = op->attr, .in = {op->in[0], op->in[1], whole ? NULL : op->in[2]},
                           .out = {op->out[nparts], op->out[nparts + 1]}};
    *input = (struct op){.kind = whole ? &conv2d_grad_input_kind : &concat_conv2d_grad_input_kind,
                         .attr = op->attr, .in = {op->in[0], op->in[1 + nparts]},
                         .out = {op->out[0], whole ? NULL : op->out[1]}};
}

static const struct kernel *kernel_of(const struct op *part)
{
    return part->kind == &conv2d_grad_weights_kind       ? &ref_conv2d_grad_weights
           : part->kind == &conv2d_grad_input_kind       ? &ref_conv2d_grad_input
           : part->kind == &concat_conv2d_grad_input_kind ? &ref_concat_conv2d_grad_input
                                                          : &ref_concat_conv2d_grad_weights;
}

static int prepare(struct op *op, struct err *e)
{
    struct op parts[2];

    split(op, &parts[0], &parts[1]);
    op->workspace_size = 0;
    for (int i = 0; i < 2; i++) {
        if (kernel_of(&parts[i])->prepare(&parts[i], e) < 0)
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
    struct op parts[2];

    split(op, &parts[0], &parts[1]);
    if (late_gradient(op, &late, op->workspace) == &late)
        dy = &late;
    for (int i = 0; i < 2; i++) {
        parts[i].in[0] = dy;
        parts[i].workspace = (char *)op->workspace + late_size(op);
        if (kernel_of(&parts[i])->run(&parts[i], x, e) < 0)
            return -1;
    }
    return 0;
}

const struct kernel ref_conv2d_grad = {&conv2d_grad_kind, NULL, prepare, run, NULL};
const struct kernel ref_concat_conv2d_grad = {&concat_conv2d_grad_kind, NULL, prepare, run, NULL};
