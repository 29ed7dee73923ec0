/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

bool cuda_supports(const struct op *op)
{
    for (int i = -1; op_next_in(op, &i);)
        if (tensor_count(op->in[i]) >> 31)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (tensor_count(op->out[i]) >> 31)
            return false;
    return true;
}

bool cuda_supports_one_type(const struct op *op)
{
    enum dtype t = op->in[0]->dtype;

    for (int i = -1; op_next_in(op, &i);)
        if (op->in[i]->place == TENSOR_ARENA && op->in[i]->shape.ndim == 4 && op->in[i]->dtype != t)
            return false;
    for (int i = -1; op_next_out(op, &i);)
        if (op->out[i]->place == TENSOR_ARENA && op->out[i]->shape.ndim == 4 &&
            op->out[i]->dtype != t)
            return false;
    return cuda_supports(op);
}
