/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/conv/roles.h"

struct roles roles_of(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;

    if (op->kind == &concat_conv2d_kind)
        return (struct roles){{in[0], in[1]}, {out[0]}, in[2], in[3], {NULL}, NULL};
    if (op->kind == &concat_conv2d_grad_input_kind)
        return (struct roles){{in[0]}, {out[0], out[1]}, in[1], NULL, {NULL}, NULL};
    if (op->kind == &concat_conv2d_grad_weights_kind)
        return (struct roles){{in[1], in[2]}, {in[0]}, out[0], out[1], {NULL}, NULL};
    if (op->kind == &conv2d_grad_weights_kind)
        return (struct roles){{in[1]}, {in[0]}, out[0], out[1], {NULL}, NULL};
    return (struct roles){{in[0]}, {out[0]}, in[1], in[2], {NULL}, NULL};
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
