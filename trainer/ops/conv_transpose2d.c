/* SPDX-License-Identifier: BSD-3-Clause */
/* The transposed convolution of 2x2 windows and its gradients. */
#include "config.h"
#include "trainer/ops/ops.h"

#include <math.h>

/* Indices into the shape of the weights, [I][O][2][2]. */
enum { IN_CHANNELS, OUT_CHANNELS };

static int infer_conv_transpose2d(const struct op_attr *attr, struct tensor *const *in,
                                  struct shape *out, struct err *e)
{
    const struct shape *x = &in[0]->shape, *w = &in[1]->shape;

    if (x->dim[DIM_C] != w->dim[IN_CHANNELS])
        return err_set(e, ERR_INTERNAL, "conv_transpose2d: %s does not fit its input", in[1]->name);
    out[0] = shape_nhwc(x->dim[DIM_N], 2 * x->dim[DIM_H], 2 * x->dim[DIM_W], w->dim[OUT_CHANNELS]);
    return 0;
}

static int infer_grad_input(const struct op_attr *attr, struct tensor *const *in,
                            struct shape *out, struct err *e)
{
    const struct shape *dy = &in[0]->shape, *w = &in[1]->shape;

    if (dy->dim[DIM_C] != w->dim[OUT_CHANNELS])
        return err_set(e, ERR_INTERNAL, "conv_transpose2d: gradient does not fit %s", in[1]->name);
    out[0] = shape_nhwc(dy->dim[DIM_N], dy->dim[DIM_H] / 2, dy->dim[DIM_W] / 2,
                        w->dim[IN_CHANNELS]);
    return 0;
}

static int infer_grad_weights(const struct op_attr *attr, struct tensor *const *in,
                              struct shape *out, struct err *e)
{
    const struct shape *dy = &in[0]->shape, *x = &in[1]->shape;

    if (tensor_pixels(in[0]) != 4 * tensor_pixels(in[1]))
        return err_set(e, ERR_INTERNAL, "conv_transpose2d: gradient does not fit the input");
    out[0] = (struct shape){4, {x->dim[DIM_C], dy->dim[DIM_C], 2, 2}};
    out[1] = (struct shape){1, {dy->dim[DIM_C]}};
    return 0;
}

static int grad_conv_transpose2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *w = op->in[1], *b = op->in[2], *dy = op->out[0]->grad;

    if (!graph_append(g, &conv_transpose2d_grad_weights_kind, NULL, (struct tensor *[]){dy, x},
                      (struct tensor *[]){w->grad, b->grad}, e))
        return -1;
    if (!x->needs_grad)
        return 0;
    return add_to_grad(g, x, graph_append_result(g, &conv_transpose2d_grad_input_kind, NULL,
                                                 (struct tensor *[]){dy, w}, e), e);
}

const struct op_kind conv_transpose2d_kind = {
    .name = "conv_transpose2d", .nin = 3, .nout = 1, .infer = infer_conv_transpose2d,
    .grad = grad_conv_transpose2d,
};
const struct op_kind conv_transpose2d_grad_input_kind = {
    .name = "conv_transpose2d_grad_input", .nin = 2, .nout = 1, .infer = infer_grad_input,
};
const struct op_kind conv_transpose2d_grad_weights_kind = {
    .name = "conv_transpose2d_grad_weights", .nin = 2, .nout = 2, .infer = infer_grad_weights,
};

struct tensor *conv_transpose2d_append(struct graph *g, const char *name, struct tensor *x,
                                       int64_t channels, struct err *e)
{
    struct tensor *in[3] = {x};
    struct shape shape;
    double bound;

    if (!x)
        return NULL;
    /* PyTorch computes the fan in from dimension 1 of the weights, here the output channels. */
    bound = 1 / sqrt((double)channels * 4);
    shape = (struct shape){4, {x->shape.dim[DIM_C], channels, 2, 2}};
    in[1] = graph_param(g, name, "weight", WEIGHTS_PARAM, shape, -bound, bound, e);
    shape = (struct shape){1, {channels}};
    if (in[1])
        in[2] = graph_param(g, name, "bias", WEIGHTS_PARAM, shape, -bound, bound, e);
    return graph_append_result(g, &conv_transpose2d_kind, NULL, in, e);
}
