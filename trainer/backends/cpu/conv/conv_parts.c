/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/conv/conv_parts.h"

/* What says nothing of a bias. */
static struct op_attr without_bias(const struct op_attr *attr)
{
    struct op_attr other = *attr;

    other.bare = false;
    return other;
}

static struct op_attr norm_attr(const struct op_attr *attr, bool coef)
{
    struct op_attr other = without_bias(attr);

    other.relu = true;
    other.coef = coef;
    return other;
}

struct conv_parts conv_parts_forward(const struct op *op)
{
    struct tensor *const *in = op->in;

    return (struct conv_parts){
        .norm = {.kind = &batch_norm_kind, .attr = norm_attr(&op->attr, false),
                 .in = {in[0], in[1], in[2], in[4], in[5], [OP_MOMENTS] = in[OP_MOMENTS]},
                 .out = {in[0], op->out[1]}},
        .conv = {.kind = &conv2d_kind, .attr = op->attr, .in = {in[0], in[3], in[6]},
                 .out = {op->out[0], [OP_OUT_MOMENTS] = op->out[OP_OUT_MOMENTS]}}};
}

/* (dy, x, gamma, saved, beta, w) -> dx, dgamma, dbeta, dw, and db */
static struct conv_parts norm_grad(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out, *coef = op->out[OP_OUT_COEF];

    return (struct conv_parts){
        .norm = {.kind = &batch_norm_grad_kind, .attr = norm_attr(&op->attr, coef != NULL),
                 .in = {out[0], in[1], in[2], in[3], in[4]}, .out = {coef ? coef : out[0], out[1], out[2]}},
        .input = {.kind = &conv2d_grad_input_kind, .attr = without_bias(&op->attr),
                  .in = {in[0], in[5]}, .out = {out[0]}},
        .weights = {.kind = &conv2d_grad_weights_kind, .attr = op->attr, .in = {in[0], in[1]},
                    .out = {out[3], out[4]}}};
}

/* (dy, x, w) -> dx, dw, and db; (dy, a, b, w) -> da, db, dw, dbias */
struct conv_parts conv_parts_grad(const struct op *op)
{
    bool whole = op->kind == &conv2d_grad_kind;
    struct tensor *const *in = op->in, *const *out = op->out;
    int nparts = whole ? 1 : 2;

    if (!whole && op->kind != &concat_conv2d_grad_kind)
        return norm_grad(op);
    return (struct conv_parts){
        .input = {.kind = whole ? &conv2d_grad_input_kind : &concat_conv2d_grad_input_kind,
                  .attr = without_bias(&op->attr),
                  .in = {in[0], in[1 + nparts]}, .out = {out[0], whole ? NULL : out[1]}},
        .weights = {.kind = whole ? &conv2d_grad_weights_kind : &concat_conv2d_grad_weights_kind,
                    .attr = op->attr, .in = {in[0], in[1], whole ? NULL : in[2]},
                    .out = {out[nparts], out[nparts + 1]}}};
}
