/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution and its gradients. The gradient of the input, as an op of its own, is also a
 * transposed convolution with the same window and stride (conv2d_append_transposed: 3x3, 2). 2x2
 * windows are in conv_transpose2d.c. */
#include "config.h"
#include "trainer/ops/ops.h"

#include <math.h>

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

static int64_t channels_of(const struct tensor *x, const struct tensor *second)
{
    return x->shape.dim[DIM_C] + (second ? second->shape.dim[DIM_C] : 0);
}

static bool have_one_size(const struct tensor *a, const struct tensor *b)
{
    for (int i = DIM_N; i < DIM_C; i++)
        if (b && a->shape.dim[i] != b->shape.dim[i])
            return false;
    return true;
}

static int infer_conv2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                        struct err *e)
{
    const struct tensor *second = in[OP_SECOND], *producer = in[OP_PRODUCER_W];
    struct tensor x = *in[0];

    if (producer && second &&
        conv_transpose2d_kind.infer(NULL, (struct tensor *[]){in[0], in[OP_PRODUCER_W]}, &x.shape,
                                    e))
        return -1;
    if (producer && !second)
        x.shape.dim[DIM_C] = producer->shape.dim[OUT_CHANNELS];
    if (!have_one_size(&x, second) || channels_of(&x, second) != in[1]->shape.dim[IN_CHANNELS] ||
        in[1]->shape.dim[2] != attr->kernel)
        return err_set(e, ERR_INTERNAL, "conv2d: %s does not fit its input", in[1]->name);
    out[0] = shape_nhwc(x.shape.dim[DIM_N], output_side(attr, x.shape.dim[DIM_H]),
                        output_side(attr, x.shape.dim[DIM_W]), in[1]->shape.dim[OUT_CHANNELS]);
    return 0;
}

/* With a stride, dy does not determine the size of x; if x is missing, attr has its size. */
static int infer_input(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                       struct err *e)
{
    const struct shape *dy = &in[0]->shape, *w = &in[1]->shape, *x = in[2] ? &in[2]->shape : NULL;
    int64_t height = x ? x->dim[DIM_H] : attr->height ? attr->height : dy->dim[DIM_H];
    int64_t width = x ? x->dim[DIM_W] : attr->width ? attr->width : dy->dim[DIM_W];
    int64_t n = w->dim[IN_CHANNELS], split = attr->split;

    if (x)
        split = in[OP_SECOND] ? x->dim[DIM_C] : 0;
    if (dy->dim[DIM_C] != w->dim[OUT_CHANNELS] || output_side(attr, height) != dy->dim[DIM_H] ||
        output_side(attr, width) != dy->dim[DIM_W])
        return err_set(e, ERR_INTERNAL, "conv2d: gradient does not fit %s", in[1]->name);
    out[0] = shape_nhwc(dy->dim[DIM_N], height, width, split ? split : n);
    if (split)
        out[OP_OUT_SECOND] = shape_nhwc(dy->dim[DIM_N], height, width, n - split);
    return 0;
}

static int infer_weights(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e)
{
    const struct shape *dy = &in[0]->shape, *x = &in[2]->shape;

    if (dy->dim[DIM_N] != x->dim[DIM_N] || dy->dim[DIM_H] != output_side(attr, x->dim[DIM_H]) ||
        dy->dim[DIM_W] != output_side(attr, x->dim[DIM_W]) ||
        !have_one_size(in[2], in[OP_SECOND]))
        return err_set(e, ERR_INTERNAL, "conv2d: gradient does not fit the input");
    out[1] = (struct shape){
        4, {dy->dim[DIM_C], channels_of(in[2], in[OP_SECOND]), attr->kernel, attr->kernel}};
    out[2] = (struct shape){!attr->no_bias, {attr->no_bias ? 0 : dy->dim[DIM_C]}};
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    if (in[1] && infer_input(attr, in, out, e) < 0)
        return -1;
    return in[2] ? infer_weights(attr, in, out, e) : 0;
}

/* Appends the gradient of the weights first, so that replicas exchange it while that of the input
 * is computed. */
static int grad_conv2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *second = op->in[OP_SECOND], *w = op->in[1];
    struct tensor *dy = op->out[0]->grad, *db = op->attr.no_bias ? NULL : op->in[2]->grad;
    struct op weights = {.kind = &conv2d_grad_kind, .attr = op->attr,
                         .in = {dy, NULL, x, [OP_SECOND] = second}, .out = {NULL, w->grad, db}};
    struct op input = {.kind = &conv2d_grad_kind, .attr = op->attr, .in = {dy, w}}, *dx;

    if (!graph_append_op(g, &weights, e))
        return -1;
    if (!x->needs_grad)
        return 0;
    input.attr.no_bias = false;
    input.attr.height = x->shape.dim[DIM_H];
    input.attr.width = x->shape.dim[DIM_W];
    input.attr.split = second ? x->shape.dim[DIM_C] : 0;
    dx = graph_append_op(g, &input, e);
    if (!dx || add_to_grad(g, x, dx->out[0], e) < 0)
        return -1;
    return second ? add_to_grad(g, second, dx->out[OP_OUT_SECOND], e) : 0;
}

/* The transposed convolution is linear in its input and its weights: the gradient of the weights is
 * that of a convolution with both exchanged, the gradient of the input is a convolution. */
static int grad_transposed(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *w = op->in[1], *dy = op->out[0]->grad;
    struct op_attr attr = {.kernel = op->attr.kernel, .stride = op->attr.stride, .no_bias = true};

    if (!graph_append(g, &conv2d_grad_kind, &attr, (struct tensor *[]){x, NULL, dy},
                      (struct tensor *[]){NULL, w->grad, NULL}, e))
        return -1;
    if (!x->needs_grad)
        return 0;
    return add_to_grad(g, x, graph_append_result(g, &conv2d_kind, &attr,
                                                 (struct tensor *[]){dy, w, NULL}, e), e);
}

const struct op_kind conv2d_kind = {
    .name = "conv2d", .nin = 3, .nout = 1, .infer = infer_conv2d, .grad = grad_conv2d,
};
const struct op_kind conv2d_grad_kind = {
    .name = "conv2d_grad", .nin = 3, .nout = 3, .partial = true, .source = 2, .infer = infer_grad,
    .grad = grad_transposed,
};

struct tensor *conv2d_append(struct graph *g, const char *name, struct tensor *x, int64_t channels,
                             int kernel, int stride, bool bias, struct err *e)
{
    struct op_attr attr = {.kernel = kernel, .stride = stride, .no_bias = !bias};
    struct tensor *in[3] = {x};
    struct shape shape;
    double bound;

    if (!x)
        return NULL;
    /* PyTorch's default, kaiming_uniform_(a = sqrt(5)), draws from +-1 / sqrt(fan in), also for the
     * bias. */
    bound = 1 / sqrt((double)x->shape.dim[DIM_C] * kernel * kernel);
    shape = (struct shape){4, {channels, x->shape.dim[DIM_C], kernel, kernel}};
    in[1] = graph_param(g, name, "weight", WEIGHTS_PARAM, shape, -bound, bound, e);
    shape = (struct shape){1, {channels}};
    if (in[1] && bias)
        in[2] = graph_param(g, name, "bias", WEIGHTS_PARAM, shape, -bound, bound, e);
    return graph_append_result(g, &conv2d_kind, &attr, in, e);
}

struct tensor *conv2d_append_transposed(struct graph *g, const char *name, struct tensor *x,
                                        int64_t channels, struct err *e)
{
    struct op_attr attr = {.kernel = 3, .stride = 2};
    struct tensor *w, *y, *b = NULL;
    struct shape shape;
    double bound;

    if (!x)
        return NULL;
    attr.height = 2 * x->shape.dim[DIM_H];
    attr.width = 2 * x->shape.dim[DIM_W];
    bound = 1 / sqrt((double)channels * 9); /* from output channels: see conv_transpose2d.c */
    shape = (struct shape){4, {x->shape.dim[DIM_C], channels, 3, 3}};
    w = graph_param(g, name, "weight", WEIGHTS_PARAM, shape, -bound, bound, e);
    shape = (struct shape){1, {channels}};
    if (w)
        b = graph_param(g, name, "bias", WEIGHTS_PARAM, shape, -bound, bound, e);
    if (!b)
        return NULL;
    y = graph_append_result(g, &conv2d_grad_kind, &attr, (struct tensor *[]){x, w, NULL}, e);
    return graph_append_result(g, &bias_kind, NULL, (struct tensor *[]){y, b}, e);
}
