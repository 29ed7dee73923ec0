/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tensors of an op are the operands of a convolution (conv_operands.h). */
#include "config.h"
#include "trainer/backends/cpu/conv/conv_operands.h"

struct conv_operands conv_operands_of(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out, *second = in[OP_SECOND];

    if (op->kind != &conv2d_grad_kind)
        return (struct conv_operands){{in[0], second}, {out[0]}, in[1], in[2], {NULL}, NULL};
    if (out[0])
        return (struct conv_operands){{in[0]}, {out[0], out[OP_OUT_SECOND]}, in[1], NULL, {NULL},
                                      NULL};
    return (struct conv_operands){{in[2], second}, {in[0]}, out[1], out[2], {NULL}, NULL};
}

struct op conv_operands_input_grad(const struct op *op)
{
    struct op input = {.kind = op->kind,
                       .attr = op->attr,
                       .in = {op->in[0], op->in[1]},
                       .out = {op->out[0], [OP_OUT_SECOND] = op->out[OP_OUT_SECOND]}};

    input.attr.no_bias = false;
    return input;
}

struct op conv_operands_weights_grad(const struct op *op)
{
    return (struct op){.kind = op->kind,
                       .attr = op->attr,
                       .in = {op->in[0], NULL, op->in[2], [OP_SECOND] = op->in[OP_SECOND]},
                       .out = {NULL, op->out[1], op->out[2]}};
}

size_t conv_operands_channels(const struct tensor *const *tensors)
{
    return tensor_channels(tensors[0]) + (tensors[1] ? tensor_channels(tensors[1]) : 0);
}

size_t conv_operands_common_channels(const struct tensor *const *tensors)
{
    size_t a = tensor_channels(tensors[0]), b = tensors[1] ? tensor_channels(tensors[1]) : 0;

    while (b > 0) {
        size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}
