/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a 3x3 convolution behind a concatenation, one after the other: with too many channels for
 * one pass (winograd_both.c). So a norm in front of it needs not be written there either (raw_norm.h). */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include <stdlib.h>

#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"

/* op->priv: the ops that it stands for; behind the coefficients they share a workspace. */
struct split {
    struct op weights, input;
    size_t coef; /* floats */
};

/* (dy, a, b, w) -> da, db, dw, dbias */
static struct split split_of(const struct op *op)
{
    struct split s = {.coef = raw_norm_size(op)};

    s.weights = (struct op){.kind = &concat_conv2d_grad_weights_kind, .attr = op->attr,
                            .in = {op->in[0], op->in[1], op->in[2]}, .out = {op->out[2], op->out[3]}};
    s.input = (struct op){.kind = &concat_conv2d_grad_input_kind, .attr = op->attr,
                          .in = {op->in[0], op->in[3]}, .out = {op->out[0], op->out[1]}};
    return s;
}

static bool supports(const struct op *op)
{
    if (!raw_norm_support(op))
        return false;
    struct split s = split_of(op);

    return simd_winograd_concat_grad_weights.supports(&s.weights) &&
           simd_winograd_concat_grad_input.supports(&s.input);
}

static void release(struct op *op)
{
    struct split *s = op->priv;

    if (s->weights.priv)
        winograd_release(&s->weights);
    if (s->input.priv)
        winograd_release(&s->input);
    free(s);
}

static int prepare(struct op *op, struct err *e)
{
    struct split *s = malloc(sizeof *s);

    if (!s)
        return err_set(e, ERR_INTERNAL, "out of memory");
    *s = split_of(op);
    op->priv = s;
    if ((s->coef ? winograd_weights_prepare_normed(&s->weights, e)
                 : simd_winograd_concat_grad_weights.prepare(&s->weights, e)) ||
        simd_winograd_concat_grad_input.prepare(&s->input, e)) {
        release(op);
        op->priv = NULL;
        return -1;
    }
    op->workspace_size = s->weights.workspace_size > s->input.workspace_size ? s->weights.workspace_size
                                                                             : s->input.workspace_size;
    op->workspace_size += s->coef * sizeof(float);
    return 0;
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct split *s = op->priv;
    float *coef = op->workspace;
    struct raw_norm norm;

    s->weights.workspace = s->input.workspace = coef + s->coef;
    raw_norm_init(&norm, op, coef);
    if (raw_norm_of(op))
        winograd_weights_run_normed(&s->weights, raw_norm_part(op), &norm.map);
    else if (simd_winograd_concat_grad_weights.run(&s->weights, x, e) < 0)
        return -1;
    return simd_winograd_concat_grad_input.run(&s->input, x, e);
}

const struct kernel simd_winograd_split = {
    .kind = &concat_conv2d_grad_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release, .may = OP_HAS_COEF | OP_HAS_SECOND_COEF};
