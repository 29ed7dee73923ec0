/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/conv/roles.h"

struct roles roles_of(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out, *second = in[OP_SECOND];

    if (op->kind != &conv2d_grad_kind)
        return (struct roles){{in[0], second}, {out[0]}, in[1], in[2], {NULL}, NULL};
    if (out[0])
        return (struct roles){{in[0]}, {out[0], out[OP_OUT_SECOND]}, in[1], NULL, {NULL}, NULL};
    return (struct roles){{in[2], second}, {in[0]}, out[1], out[2], {NULL}, NULL};
}

struct op roles_input(const struct op *op)
{
    struct op input = {.kind = op->kind, .attr = op->attr, .in = {op->in[0], op->in[1]},
                       .out = {op->out[0], [OP_OUT_SECOND] = op->out[OP_OUT_SECOND]}};

    input.attr.no_bias = false;
    return input;
}

struct op roles_weights(const struct op *op)
{
    return (struct op){.kind = op->kind, .attr = op->attr,
                       .in = {op->in[0], NULL, op->in[2], [OP_SECOND] = op->in[OP_SECOND]},
                       .out = {NULL, op->out[1], op->out[2]}};
}

size_t roles_channels(const struct tensor *const *parts)
{
    return tensor_channels(parts[0]) + (parts[1] ? tensor_channels(parts[1]) : 0);
}

size_t roles_common_channels(const struct tensor *const *parts)
{
    size_t a = tensor_channels(parts[0]), b = parts[1] ? tensor_channels(parts[1]) : 0;

    while (b > 0) {
        size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}
