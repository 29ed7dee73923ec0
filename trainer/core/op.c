/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of an op that follow from its kind, attributes and tensors, such as its form and its
 * name. */
#include "config.h"
#include "trainer/core/op.h"

#include <stdio.h>

bool op_may_lack(const struct op *op, int i)
{
    return (op->attr.no_bias && i == op->kind->nin - 1) || (op->kind->partial && i > 0);
}

unsigned op_form(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;
    unsigned form = 0;

    if (op->kind->partial)
        form = !in[2] ? OP_INPUT_ONLY : !in[1] ? OP_WEIGHTS_ONLY : 0;
    return form | (op->attr.no_bias ? OP_NO_BIAS : 0) | (op->attr.relu ? OP_RELU : 0) |
           (op->attr.scale_shift ? OP_AS_SCALE_SHIFT : 0) |
           (in[OP_SCALE_SHIFT] ? OP_HAS_SCALE_SHIFT : 0) |
           (in[OP_SECOND] || out[OP_OUT_SECOND] ? OP_HAS_SECOND : 0) |
           (in[OP_SECOND_SCALE_SHIFT] ? OP_HAS_SECOND_SCALE_SHIFT : 0) |
           (in[OP_NORM_SCALE_SHIFT] ? OP_HAS_NORM_SCALE_SHIFT : 0) |
           (in[OP_MOMENTS] ? OP_TAKES_MOMENTS : 0) | (out[OP_OUT_MOMENTS] ? OP_GIVES_MOMENTS : 0) |
           (in[OP_SUMS] ? OP_TAKES_SUMS : 0) | (out[OP_OUT_SUMS] ? OP_GIVES_SUMS : 0) |
           (in[OP_NORM_GRAD_X] ? OP_HAS_NORM_GRAD : 0) |
           (in[OP_PRODUCER_W] ? OP_HAS_PRODUCER : 0) | (out[OP_OUT_POOLED] ? OP_GIVES_POOLED : 0) |
           (in[OP_ADDED] ? OP_HAS_ADDED : 0);
}

bool op_is_float(const struct op *op)
{
    for (int k = -1; op_next_in(op, &k);)
        if (op->in[k]->dtype != DTYPE_F32)
            return false;
    for (int k = -1; op_next_out(op, &k);)
        if (op->out[k]->dtype != DTYPE_F32)
            return false;
    return true;
}

const char *op_name(const struct op *op, char dst[OP_NAME_SIZE])
{
    static const struct {
        unsigned form;
        const char *text;
    } before[] = {{OP_HAS_PRODUCER, "producer_"},
                  {OP_HAS_SCALE_SHIFT | OP_HAS_SECOND_SCALE_SHIFT | OP_HAS_NORM_SCALE_SHIFT,
                   "norm_"},
                  {OP_HAS_SECOND, "concat_"}},
      behind[] = {{OP_INPUT_ONLY, "_input"}, {OP_WEIGHTS_ONLY, "_weights"}, {OP_HAS_ADDED, "_add"},
                  {OP_RELU, "_relu"}, {OP_AS_SCALE_SHIFT, "_scale_shift"},
                  {OP_GIVES_POOLED, "_max_pool2d"}};
    unsigned form = op_form(op);
    size_t n = 0;

    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (form & before[i].form)
            n += (size_t)snprintf(dst + n, OP_NAME_SIZE - n, "%s", before[i].text);
    n += (size_t)snprintf(dst + n, OP_NAME_SIZE - n, "%s", op->kind->name);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        if (form & behind[i].form)
            n += (size_t)snprintf(dst + n, OP_NAME_SIZE - n, "%s", behind[i].text);
    return dst;
}
