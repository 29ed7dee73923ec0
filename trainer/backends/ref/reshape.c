/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <string.h>

/* Nothing to do where the result took the input's memory. */
static int run(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    if (op->out[0]->data != op->in[0]->data)
        memcpy(op->out[0]->data, op->in[0]->data, tensor_count(op->out[0]) * sizeof(float));
    return 0;
}

const struct kernel ref_reshape = {&reshape_kind, NULL, NULL, run, NULL};
