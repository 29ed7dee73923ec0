/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions and transposed convolutions. */
#include "src/base.h"
#include "trainer/ops/ops.h"

#include <math.h>

/* Convolution and its gradients. The gradient of the input, as an op of its own, is also a
 * transposed convolution with the same window and stride (3x3, 2); 2x2 windows have ops of their
 * own. */

/* Indices into the shape of the weights, [O][I][K][K]. */
enum { OUT_CHANNELS, IN_CHANNELS };

static int64_t stride_of(const struct op_attr *attr)
{
    return attr->stride ? attr->stride : 1;
}

static int64_t output_side(const struct op_attr *attr, int64_t side)
{
    return (side + stride_of(attr) - 1) / stride_of(attr);
}

static int infer_conv2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                        struct err *e)
{
    const int64_t *x = in[0]->shape.dim, *w = in[1]->shape.dim;

    out[0] = shape_nhwc(x[DIM_N], output_side(attr, x[DIM_H]), output_side(attr, x[DIM_W]),
                        w[OUT_CHANNELS]);
    return 0;
}

static int infer_grad_input(const struct op_attr *attr, struct tensor *const *in,
                            struct shape *out, struct err *e)
{
    const int64_t *dy = in[0]->shape.dim, *w = in[1]->shape.dim;
    int64_t height = attr->height ? attr->height : dy[DIM_H];
    int64_t width = attr->width ? attr->width : dy[DIM_W];

    out[0] = shape_nhwc(dy[DIM_N], height, width, w[IN_CHANNELS]);
    return 0;
}

static int infer_grad_weights(const struct op_attr *attr, struct tensor *const *in,
                              struct shape *out, struct err *e)
{
    const int64_t *dy = in[0]->shape.dim, *x = in[1]->shape.dim;

    out[0] = (struct shape){4, {dy[DIM_C], x[DIM_C], attr->kernel, attr->kernel}};
    out[1] = (struct shape){1, {dy[DIM_C]}};
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    infer_grad_input(attr, in, out, e);
    return infer_grad_weights(attr, (struct tensor *[]){in[0], in[2]}, out + 1, e);
}

/* Appends the gradients of weights and bias (b may be NULL), by an op of this kind, unless they are
 * frozen. dy: the gradient of the layer's result. */
static int append_grad_weights(struct graph *g, const struct op_kind *kind,
                               const struct op_attr *attr, struct tensor *dy, struct tensor *x,
                               const struct tensor *w, const struct tensor *b, struct err *e)
{
    struct tensor *db = b ? b->grad : NULL;

    if (w->grad)
        return graph_append(g, kind, attr, (struct tensor *[]){dy, x},
                            (struct tensor *[]){w->grad, db}, e) ? 0 : -1;
    return !db || graph_append(g, &bias_grad_kind, NULL, &dy, &db, e) ? 0 : -1;
}

/* Appends the gradient of the input, by an op of this kind on dy and w, unless it needs none. */
static int append_grad_input(struct graph *g, const struct op *op, const struct op_kind *kind,
                             const struct op_attr *attr, struct err *e)
{
    struct tensor *x = op->in[0], *in[3] = {op->out[0]->grad, op->in[1]};

    return x->needs_grad ? add_to_grad(g, x, graph_append_result(g, kind, attr, in, e), e) : 0;
}

/* Appends the gradient of the weights first, so that replicas exchange it while that of the input
 * is computed. */
static int grad_conv2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0];
    struct op_attr attr = op->attr;

    if (append_grad_weights(g, &conv2d_grad_weights_kind, &attr, op->out[0]->grad, x, op->in[1],
                            op->in[2], e))
        return -1;
    attr.height = x->shape.dim[DIM_H];
    attr.width = x->shape.dim[DIM_W];
    return append_grad_input(g, op, &conv2d_grad_input_kind, &attr, e);
}

/* The transposed convolution is linear in its input and its weights: the gradient of the weights is
 * that of a convolution with both exchanged, the gradient of the input is a convolution. */
static int grad_transposed(struct graph *g, const struct op *op, struct err *e)
{
    struct op_attr attr = {.kernel = op->attr.kernel, .stride = op->attr.stride};

    if (append_grad_weights(g, &conv2d_grad_weights_kind, &attr, op->in[0], op->out[0]->grad,
                            op->in[1], NULL, e))
        return -1;
    return append_grad_input(g, op, &conv2d_kind, &attr, e);
}

const struct op_kind conv2d_kind = {
    .name = "conv2d", .nin = 3, .nout = 1, .may_lack_in = 1 << 2, .infer = infer_conv2d,
    .grad = grad_conv2d,
};
const struct op_kind conv2d_relu_kind = {
    .name = "conv2d_relu", .nin = 3, .nout = 1, .may_lack_in = 1 << 2, .infer = infer_conv2d,
};
const struct op_kind conv2d_grad_input_kind = {
    .name = "conv2d_grad_input", .nin = 2, .nout = 1, .infer = infer_grad_input,
    .grad = grad_transposed,
};
const struct op_kind conv2d_grad_weights_kind = {
    .name = "conv2d_grad_weights", .nin = 2, .nout = 2, .may_lack_out = 1 << 1,
    .infer = infer_grad_weights,
};
const struct op_kind conv2d_grad_kind = {
    .name = "conv2d_grad", .nin = 3, .nout = 3, .may_lack_out = 1 << 2, .infer = infer_grad,
};

/* Sets in[1] and in[2] to the weights of a convolution and its bias, if it has one, with PyTorch's
 * default, kaiming_uniform_(a = sqrt(5)), which draws both from +-1 / sqrt(fan in). */
static void add_weights(struct graph *g, const char *name, struct shape shape, int64_t fan_in,
                        int64_t nbias, struct tensor **in, struct err *e)
{
    double bound = 1 / sqrt((double)fan_in * (double)(shape.dim[2] * shape.dim[3]));

    in[1] = graph_param(g, name, "weight", WEIGHTS_PARAM, shape, -bound, bound, e);
    if (in[1] && nbias)
        in[2] = graph_param(g, name, "bias", WEIGHTS_PARAM, (struct shape){1, {nbias}}, -bound,
                            bound, e);
}

struct tensor *conv2d_append(struct graph *g, const char *name, struct tensor *x, int64_t channels,
                             int kernel, int stride, int dilation, bool bias, struct err *e)
{
    struct op_attr attr = {.kernel = kernel, .stride = stride, .dilation = dilation};
    struct tensor *in[3] = {x};
    int64_t nx = x ? x->shape.dim[DIM_C] : 0;

    if (!x)
        return NULL;
    add_weights(g, name, (struct shape){4, {channels, nx, kernel, kernel}}, nx, bias ? channels : 0,
                in, e);
    return graph_append_result(g, &conv2d_kind, &attr, in, e);
}

/* The transposed convolution of 2x2 windows and its gradients. */

/* Indices into the shape of the weights, [I][O][2][2]. */
enum { TRANSPOSED_IN_CHANNELS, TRANSPOSED_OUT_CHANNELS };

static int infer_conv_transpose2d(const struct op_attr *attr, struct tensor *const *in,
                                  struct shape *out, struct err *e)
{
    const struct shape *x = &in[0]->shape, *w = &in[1]->shape;

    out[0] = shape_nhwc(x->dim[DIM_N], 2 * x->dim[DIM_H], 2 * x->dim[DIM_W],
                        w->dim[TRANSPOSED_OUT_CHANNELS]);
    return 0;
}

static int infer_grad_input_transposed(const struct op_attr *attr, struct tensor *const *in,
                                       struct shape *out, struct err *e)
{
    const struct shape *dy = &in[0]->shape, *w = &in[1]->shape;

    out[0] = shape_nhwc(dy->dim[DIM_N], dy->dim[DIM_H] / 2, dy->dim[DIM_W] / 2,
                        w->dim[TRANSPOSED_IN_CHANNELS]);
    return 0;
}

static int infer_grad_weights_transposed(const struct op_attr *attr, struct tensor *const *in,
                                         struct shape *out, struct err *e)
{
    const struct shape *dy = &in[0]->shape, *x = &in[1]->shape;

    out[0] = (struct shape){4, {x->dim[DIM_C], dy->dim[DIM_C], 2, 2}};
    out[1] = (struct shape){1, {dy->dim[DIM_C]}};
    return 0;
}

static int grad_conv_transpose2d(struct graph *g, const struct op *op, struct err *e)
{
    if (append_grad_weights(g, &conv_transpose2d_grad_weights_kind, NULL, op->out[0]->grad,
                            op->in[0], op->in[1], op->in[2], e))
        return -1;
    return append_grad_input(g, op, &conv_transpose2d_grad_input_kind, NULL, e);
}

const struct op_kind conv_transpose2d_kind = {
    .name = "conv_transpose2d", .nin = 3, .nout = 1, .infer = infer_conv_transpose2d,
    .grad = grad_conv_transpose2d,
};
const struct op_kind conv_transpose2d_grad_input_kind = {
    .name = "conv_transpose2d_grad_input", .nin = 2, .nout = 1,
    .infer = infer_grad_input_transposed,
};
const struct op_kind conv_transpose2d_grad_weights_kind = {
    .name = "conv_transpose2d_grad_weights", .nin = 2, .nout = 2,
    .infer = infer_grad_weights_transposed,
};

struct tensor *conv_transpose2d_append(struct graph *g, const char *name, struct tensor *x,
                                       int64_t channels, int kernel, struct err *e)
{
    struct op_attr attr = {.kernel = 3, .stride = 2};
    struct tensor *in[3] = {x}, *y;

    if (!x)
        return NULL;
    /* PyTorch computes the fan in from dimension 1 of the weights, here the output channels. */
    add_weights(g, name, (struct shape){4, {x->shape.dim[DIM_C], channels, kernel, kernel}},
                channels, channels, in, e);
    if (kernel == 2)
        return graph_append_result(g, &conv_transpose2d_kind, NULL, in, e);
    if (!in[2])
        return NULL;
    attr.height = 2 * x->shape.dim[DIM_H];
    attr.width = 2 * x->shape.dim[DIM_W];
    y = graph_append_result(g, &conv2d_grad_input_kind, &attr, in, e);
    return graph_append_result(g, &bias_kind, NULL, (struct tensor *[]){y, in[2]}, e);
}
