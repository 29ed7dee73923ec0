/* SPDX-License-Identifier: BSD-3-Clause */
/* The sum of two gradients of one tensor; only graph_add_grad appends it. */
#include "config.h"
#include "trainer/core/op.h"

static int infer_add(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    (void)attr;
    if (!shape_equal(&in[0]->shape, &in[1]->shape))
        return err_set(e, ERR_INTERNAL, "add: %s and %s differ in shape", in[0]->name, in[1]->name);
    out[0] = in[0]->shape;
    return 0;
}

const struct op_kind add_kind = {"add", 2, 1, true, infer_add, NULL};
