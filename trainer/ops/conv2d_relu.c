/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

static int infer_max_pool2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    struct tensor y = {0};

    if (conv2d_kind.infer(attr, in, out, e) < 0)
        return -1;
    y.shape = out[0];
    return max_pool2d_kind.infer(NULL, (struct tensor *[]){&y}, out + 1, e);
}

static int infer_conv2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out, struct err *e)
{
    struct tensor y = {0};

    if (conv2d_kind.infer(attr, in, &y.shape, e) < 0)
        return -1;
    return conv2d_kind.infer(&(struct op_attr){.kernel = 1}, (struct tensor *[]){&y, in[3], in[4]}, out, e);
}

static int infer_conv2d_relu_max_pool2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                                        struct err *e)
{
    struct tensor y = {0};

    if (conv2d_kind.infer(attr, in, &y.shape, e) < 0)
        return -1;
    return infer_max_pool2d(attr, (struct tensor *[]){&y, in[3], in[4]}, out, e);
}

const struct op_kind conv2d_relu_max_pool2d_kind = {"conv2d_relu_max_pool2d", 3, 2, false, infer_max_pool2d, NULL};
const struct op_kind conv2d_relu_conv2d_kind = {"conv2d_relu_conv2d", 5, 1, false, infer_conv2d, NULL};
const struct op_kind conv2d_relu_conv2d_relu_max_pool2d_kind = {"conv2d_relu_conv2d_relu_max_pool2d", 5, 2, false,
                                                                infer_conv2d_relu_max_pool2d, NULL};
