/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/conv_parts.h"

struct conv_parts conv_parts_forward(const struct op *op)
{
    bool bias = op->kind == &batch_norm_relu_conv2d_kind;
    struct tensor *const *in = op->in, *const *running = in + (bias ? 5 : 4);

    return (struct conv_parts){
        .norm = {.kind = &batch_norm_relu_kind, .attr = op->attr,
                 .in = {in[0], in[1], in[2], running[0], running[1], op_moments_in(op)},
                 .out = {in[0], op->out[1]}},
        .conv = {.kind = bias ? &conv2d_kind : &conv2d_nobias_kind, .attr = op->attr,
                 .in = {in[0], in[3], bias ? in[4] : NULL}, .out = {op->out[0], op_moments_out(op)}}};
}

/* (dy, x, gamma, saved, beta, w) -> dx, dgamma, dbeta, dw, and db */
static struct conv_parts norm_grad(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out, *coef = op_late_out(op);
    bool bias = op->kind == &batch_norm_relu_conv2d_grad_kind;

    return (struct conv_parts){
        .norm = {.kind = coef ? &batch_norm_relu_grad_coef_kind : &batch_norm_relu_grad_kind, .attr = op->attr,
                 .in = {out[0], in[1], in[2], in[3], in[4]}, .out = {coef ? coef : out[0], out[1], out[2]}},
        .input = {.kind = &conv2d_grad_input_kind, .attr = op->attr, .in = {in[0], in[5]}, .out = {out[0]}},
        .weights = {.kind = bias ? &conv2d_grad_weights_kind : &conv2d_nobias_grad_weights_kind,
                    .attr = op->attr, .in = {in[0], in[1]}, .out = {out[3], bias ? out[4] : NULL}}};
}

/* (dy, x, w) -> dx, dw, and db; (dy, a, b, w) -> da, db, dw, dbias */
struct conv_parts conv_parts_grad(const struct op *op)
{
    bool nobias = op->kind == &conv2d_nobias_grad_kind, whole = nobias || op->kind == &conv2d_grad_kind;
    struct tensor *const *in = op->in, *const *out = op->out;
    int nparts = whole ? 1 : 2;

    if (!whole && op->kind != &concat_conv2d_grad_kind)
        return norm_grad(op);
    struct conv_parts p = {
        .input = {.kind = whole ? &conv2d_grad_input_kind : &concat_conv2d_grad_input_kind, .attr = op->attr,
                  .in = {in[0], in[1 + nparts]}, .out = {out[0], whole ? NULL : out[1]}},
        .weights = {.kind = nobias ? &conv2d_nobias_grad_weights_kind
                            : whole ? &conv2d_grad_weights_kind : &concat_conv2d_grad_weights_kind,
                    .attr = op->attr, .in = {in[0], in[1], whole ? NULL : in[2]},
                    .out = {out[nparts], out[nparts + 1]}}};

    p.input.attr.raw = p.weights.attr.raw = 0;
    return p;
}
