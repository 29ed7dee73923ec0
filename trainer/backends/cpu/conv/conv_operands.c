/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tensors of an op are the operands of a convolution (conv_operands.h). */
#include "config.h"
#include "trainer/backends/cpu/conv/conv_operands.h"

struct conv_operands conv_operands_of(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;

    if (op->kind == &conv2d_grad_weights_kind)
        return (struct conv_operands){in[1], in[0], out[0], out[1]};
    if (op->kind == &conv2d_grad_kind)
        return (struct conv_operands){in[0], out[0], in[1], NULL};
    return (struct conv_operands){in[0], out[0], in[1], in[2]};
}

struct conv_operands conv_operands_weights_grad(const struct op *op)
{
    return (struct conv_operands){op->in[2], op->in[0], op->out[1], op->out[2]};
}
