/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_norm_add_relu(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                               struct err *e)
{
    struct shape coef = {2, {2, in[0]->shape.dim[DIM_C]}};

    (void)attr;
    if (!shape_equal(&in[0]->shape, &in[1]->shape) || !shape_equal(&in[2]->shape, &coef))
        return err_set(e, ERR_INTERNAL, "norm_add_relu: %s, %s and %s do not fit", in[0]->name, in[1]->name,
                       in[2]->name);
    out[0] = in[0]->shape;
    return 0;
}

const struct op_kind norm_add_relu_kind = {"norm_add_relu", 3, 1, false, infer_norm_add_relu, NULL};
