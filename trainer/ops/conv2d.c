/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/ops.h"

#include <math.h>

/* Index into the shape of the weights, [O][I][K][K]. */
enum { OUT_CHANNELS, IN_CHANNELS };

static int64_t stride_of(const struct op_attr *attr)
{
    return attr->stride ? attr->stride : 1;
}

/* Height and width of the result. */
static int64_t divide(const struct op_attr *attr, int64_t side)
{
    return (side + stride_of(attr) - 1) / stride_of(attr);
}

static int infer_conv2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                        struct err *e)
{
    const struct shape *x = &in[0]->shape, *w = &in[1]->shape;
    const struct tensor *front = in[OP_FRONT_W], *last = in[OP_HEAD_W] ? in[OP_HEAD_W] : in[1];
    int64_t channels = front ? front->shape.dim[OUT_CHANNELS] : x->dim[DIM_C];

    if (channels != w->dim[IN_CHANNELS] || w->dim[2] != attr->kernel)
        return err_set(e, ERR_INTERNAL, "conv2d: %s does not fit its input", in[1]->name);
    out[0] = shape_nhwc(x->dim[DIM_N], divide(attr, x->dim[DIM_H]), divide(attr, x->dim[DIM_W]),
                        last->shape.dim[OUT_CHANNELS]);
    return 0;
}

/* With a stride attr has the size of the result: several sizes are divided to the same. */
static int infer_grad_input(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    const struct shape *dy = &in[0]->shape, *w = &in[1]->shape;
    int64_t height = attr->height ? attr->height : dy->dim[DIM_H];
    int64_t width = attr->width ? attr->width : dy->dim[DIM_W];

    if (dy->dim[DIM_C] != w->dim[OUT_CHANNELS] || divide(attr, height) != dy->dim[DIM_H] ||
        divide(attr, width) != dy->dim[DIM_W])
        return err_set(e, ERR_INTERNAL, "conv2d: gradient does not fit %s", in[1]->name);
    out[0] = shape_nhwc(dy->dim[DIM_N], height, width, w->dim[IN_CHANNELS]);
    return 0;
}

static int infer_grad_weights(const struct op_attr *attr, struct tensor *const *in,
                              struct shape *out,
                              struct err *e)
{
    const struct shape *dy = &in[0]->shape, *x = &in[1]->shape;

    if (dy->dim[DIM_N] != x->dim[DIM_N] || dy->dim[DIM_H] != divide(attr, x->dim[DIM_H]) ||
        dy->dim[DIM_W] != divide(attr, x->dim[DIM_W]))
        return err_set(e, ERR_INTERNAL, "conv2d: gradient does not fit the input");
    out[0] = (struct shape){4, {dy->dim[DIM_C], x->dim[DIM_C], attr->kernel, attr->kernel}};
    out[1] = (struct shape){!attr->bare, {attr->bare ? 0 : dy->dim[DIM_C]}};
    return 0;
}

static int infer_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    struct op_attr of_x = *attr;

    of_x.height = in[1]->shape.dim[DIM_H];
    of_x.width = in[1]->shape.dim[DIM_W];
    if (infer_grad_input(&of_x, (struct tensor *[]){in[0], in[2]}, out, e) < 0)
        return -1;
    return infer_grad_weights(attr, in, out + 1, e);
}

/* Weights first: their gradient can travel while the input's is computed. */
static int grad_conv2d(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *w = op->in[1], *dy = op->out[0]->grad;
    struct op_attr attr = op->attr;
    struct op *dx;

    if (!graph_append(g, &conv2d_grad_weights_kind, &attr, (struct tensor *[]){dy, x},
                      (struct tensor *[]){w->grad, attr.bare ? NULL : op->in[2]->grad}, e))
        return -1;
    if (!x->needs_grad)
        return 0;
    attr.bare = false;
    attr.height = x->shape.dim[DIM_H];
    attr.width = x->shape.dim[DIM_W];
    dx = graph_append(g, &conv2d_grad_input_kind, &attr, (struct tensor *[]){dy, w}, NULL, e);
    return dx ? graph_add_grad(g, x, dx->out[0], e) : -1;
}

/* dx = dy transposed over w: linear in both, so its gradients are the convolution's. */
static int grad_transposed(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *w = op->in[1], *dy = op->out[0]->grad;
    struct op_attr attr = {.kernel = op->attr.kernel, .stride = op->attr.stride, .bare = true};
    struct op *dx;

    if (!graph_append(g, &conv2d_grad_weights_kind, &attr, (struct tensor *[]){x, dy},
                      (struct tensor *[]){w->grad, NULL}, e))
        return -1;
    if (!x->needs_grad)
        return 0;
    dx = graph_append(g, &conv2d_kind, &attr, (struct tensor *[]){dy, w, NULL}, NULL, e);
    return dx ? graph_add_grad(g, x, dx->out[0], e) : -1;
}

const struct op_kind conv2d_kind = {"conv2d", 3, 1, false, infer_conv2d, grad_conv2d};
const struct op_kind conv2d_grad_input_kind = {"conv2d_grad_input", 2, 1, false, infer_grad_input,
                                               grad_transposed};
const struct op_kind conv2d_grad_weights_kind = {"conv2d_grad_weights", 2, 2, false,
                                                 infer_grad_weights, NULL};
const struct op_kind conv2d_grad_kind = {"conv2d_grad", 3, 3, false, infer_grad, NULL};

struct tensor *conv2d_append_as(struct graph *g, const char *name, struct tensor *x,
                                int64_t channels, int kernel, int stride, bool bias, struct err *e)
{
    struct op_attr attr = {.kernel = kernel, .stride = stride, .bare = !bias};
    struct tensor *in[3] = {x};
    struct shape shape;
    double bound;
    struct op *op;

    if (!x)
        return NULL;
    /* kaiming_uniform_(a = sqrt(5)) comes down to 1 / sqrt(fan in), for the bias as well. */
    bound = 1 / sqrt((double)x->shape.dim[DIM_C] * kernel * kernel);
    shape = (struct shape){4, {channels, x->shape.dim[DIM_C], kernel, kernel}};
    in[1] = graph_param(g, name, "weight", WEIGHTS_PARAM, shape, -bound, bound, e);
    shape = (struct shape){1, {channels}};
    if (in[1] && bias)
        in[2] = graph_param(g, name, "bias", WEIGHTS_PARAM, shape, -bound, bound, e);
    op = graph_append(g, &conv2d_kind, &attr, in, NULL, e);
    return op ? op->out[0] : NULL;
}

struct tensor *conv2d_append(struct graph *g, const char *name, struct tensor *x,
                             int64_t channels, int kernel, struct err *e)
{
    return conv2d_append_as(g, name, x, channels, kernel, 1, true, e);
}

struct tensor *conv2d_append_transposed(struct graph *g, const char *name, struct tensor *x,
                                      int64_t channels, struct err *e)
{
    struct op_attr attr = {.kernel = 3, .stride = 2};
    struct tensor *w, *b = NULL;
    struct shape shape;
    double bound;
    struct op *op;

    if (!x)
        return NULL;
    attr.height = 2 * x->shape.dim[DIM_H];
    attr.width = 2 * x->shape.dim[DIM_W];
    bound = 1 / sqrt((double)channels * 9); /* as conv_transpose2d_append */
    shape = (struct shape){4, {x->shape.dim[DIM_C], channels, 3, 3}};
    w = graph_param(g, name, "weight", WEIGHTS_PARAM, shape, -bound, bound, e);
    shape = (struct shape){1, {channels}};
    if (w)
        b = graph_param(g, name, "bias", WEIGHTS_PARAM, shape, -bound, bound, e);
    op = graph_append(g, &conv2d_grad_input_kind, &attr, (struct tensor *[]){x, w}, NULL, e);
    if (op)
        op = graph_append(g, &bias_kind, NULL, (struct tensor *[]){op->out[0], b}, NULL, e);
    return op ? op->out[0] : NULL;
}
