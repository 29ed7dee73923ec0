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

/* (dy, x, w) -> dx, dw, and db; (dy, a, b, w) -> da, db, dw, dbias */
struct conv_parts conv_parts_grad(const struct op *op)
{
    bool whole = op->kind == &conv2d_grad_kind;
    struct tensor *const *in = op->in, *const *out = op->out;
    int nparts = whole ? 1 : 2;

    return (struct conv_parts){
        .input = {.kind = whole ? &conv2d_grad_input_kind : &concat_conv2d_grad_input_kind,
                  .attr = without_bias(&op->attr),
                  .in = {in[0], in[1 + nparts]}, .out = {out[0], whole ? NULL : out[1]}},
        .weights = {.kind = whole ? &conv2d_grad_weights_kind : &concat_conv2d_grad_weights_kind,
                    .attr = op->attr, .in = {in[0], in[1], whole ? NULL : in[2]},
                    .out = {out[nparts], out[nparts + 1]}}};
}
