/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops that compute, convert or move single numbers; before them the table of all kinds, and
 * what several kinds share. */
#include "src/base.h"
#include "trainer/ops/ops.h"

int ops_infer_same_shape(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e)
{
    out[0] = in[0]->shape;
    return 0;
}

int ops_infer_pooled(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    if (x[DIM_H] < 2 || x[DIM_W] < 2)
        return err_set(e, ERR_INTERNAL, "pooling: height and width must be 2 at least");
    out[0] = shape_nhwc(x[DIM_N], x[DIM_H] / 2, x[DIM_W] / 2, x[DIM_C]);
    return 0;
}

int ops_infer_sized(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                    struct err *e)
{
    out[0] = shape_nhwc(in[0]->shape.dim[DIM_N], attr->height, attr->width, attr->channels);
    return 0;
}

int ops_grad_first(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *in[] = {op->out[0]->grad, x};
    struct op_attr attr = op->attr;

    attr.height = x->shape.dim[DIM_H];
    attr.width = x->shape.dim[DIM_W];
    attr.channels = x->shape.dim[DIM_C];
    return add_to_grad(g, x, graph_append_result(g, op->kind->grad_kind, &attr, in, e), e);
}

const struct op_kind *const op_kinds[] = {
#define OP(name) &name##_kind,
#include "trainer/core/ops.def"
#undef OP
    NULL,
};

/* The op add, and the sum of several contributions to one gradient. */

static int infer_add(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    if (!shape_equal(&in[0]->shape, &in[1]->shape))
        return err_set(e, ERR_INTERNAL, "add: %s and %s differ in shape", in[0]->name, in[1]->name);
    out[0] = in[0]->shape;
    return 0;
}

static int grad_add(struct graph *g, const struct op *op, struct err *e)
{
    for (int i = 0; i < 2; i++)
        if (op->in[i]->needs_grad && add_to_grad(g, op->in[i], op->out[0]->grad, e))
            return -1;
    return 0;
}

const struct op_kind add_kind = {
    .name = "add", .nin = 2, .nout = 1, .inplace = true, .infer = infer_add, .grad = grad_add,
};

struct tensor *add_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e)
{
    return graph_append_result(g, &add_kind, NULL, (struct tensor *[]){a, b}, e);
}

int add_to_grad(struct graph *g, struct tensor *t, struct tensor *grad, struct err *e)
{
    bool adds = t->needs_grad && t->grad && grad;
    struct tensor *sum = adds ? add_append(g, t->grad, grad, e) : grad;

    if (!sum)
        return -1;
    t->grad = t->needs_grad ? sum : NULL;
    return 0;
}

/* The op relu and its gradient. */

static int grad_relu(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *y = op->out[0], *in[] = {y->grad, y};

    return add_to_grad(g, op->in[0], graph_append_result(g, &relu_grad_kind, &op->attr, in, e),
                       e);
}

const struct op_kind relu_kind = {
    .name = "relu", .nin = 1, .nout = 1, .inplace = true, .infer = ops_infer_same_shape,
    .grad = grad_relu,
};
const struct op_kind relu_grad_kind = {
    .name = "relu_grad", .nin = 2, .nout = 1, .inplace = true, .infer = ops_infer_same_shape,
};

struct tensor *relu_append(struct graph *g, struct tensor *x, struct err *e)
{
    return relu_append_leaky(g, x, 0, e);
}

struct tensor *relu_append_leaky(struct graph *g, struct tensor *x, double slope, struct err *e)
{
    return graph_append_result(g, &relu_kind, &(struct op_attr){.slope = slope}, &x, e);
}

/* The op dropout, which is its own gradient. */

/* With the same attr.stream the op drops the same elements of the gradient. */
const struct op_kind dropout_kind = {
    .name = "dropout", .nin = 1, .nout = 1, .inplace = true, .infer = ops_infer_same_shape,
    .grad = ops_grad_first, .grad_kind = &dropout_kind,
};

struct tensor *dropout_append(struct graph *g, struct tensor *x, double rate, struct err *e)
{
    struct op_attr attr = {.rate = rate, .stream = 1};

    if (!g->training)
        return x;
    for (size_t i = 0; i < g->nops; i++)
        attr.stream += g->ops[i]->kind == &dropout_kind;
    return graph_append_result(g, &dropout_kind, &attr, &x, e);
}

/* The op that adds a bias to each channel, and its gradient. */

static int infer_grad_bias(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    out[0] = (struct shape){1, {in[0]->shape.dim[DIM_C]}};
    return 0;
}

static int grad_bias(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *dy = op->out[0]->grad, *db = op->in[1]->grad;

    if (db && !graph_append(g, &bias_grad_kind, NULL, &dy, &db, e))
        return -1;
    return op->in[0]->needs_grad ? add_to_grad(g, op->in[0], dy, e) : 0;
}

const struct op_kind bias_kind = {
    .name = "bias", .nin = 2, .nout = 1, .inplace = true, .infer = ops_infer_same_shape,
    .grad = grad_bias,
};
const struct op_kind bias_grad_kind = {
    .name = "bias_grad", .nin = 1, .nout = 1, .infer = infer_grad_bias,
};

/* The op that converts between floats and numbers of 16 bits; passes/ appends it. */

const struct op_kind cast_kind = {
    .name = "cast", .nin = 1, .nout = 1, .infer = ops_infer_same_shape,
};

/* The op reshape, whose gradient is a reshape. */

static int infer_reshape(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                         struct err *e)
{
    ops_infer_sized(attr, in, out, e);
    if (shape_count(&out[0]) != tensor_count(in[0]))
        return err_set(e, ERR_INTERNAL, "reshape: the result has another size");
    return 0;
}

const struct op_kind reshape_kind = {
    .name = "reshape", .nin = 1, .nout = 1, .inplace = true, .infer = infer_reshape,
    .grad = ops_grad_first, .grad_kind = &reshape_kind,
};

struct tensor *reshape_append_flat(struct graph *g, struct tensor *x, struct err *e)
{
    struct op_attr attr = {.height = 1, .width = 1};

    if (!x)
        return NULL;
    attr.channels = x->shape.dim[DIM_H] * x->shape.dim[DIM_W] * x->shape.dim[DIM_C];
    return graph_append_result(g, &reshape_kind, &attr, &x, e);
}

/* The op that concatenates the channels of two tensors, and its gradient. */

static int infer_concat(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                        struct err *e)
{
    const struct shape *a = &in[0]->shape, *b = &in[1]->shape;

    out[0] = *a;
    out[0].dim[DIM_C] = b->dim[DIM_C];
    if (!shape_equal(&out[0], b))
        return err_set(e, ERR_INTERNAL, "concat: %s and %s differ in more than their channels",
                       in[0]->name, in[1]->name);
    out[0].dim[DIM_C] += a->dim[DIM_C];
    return 0;
}

static int infer_concat_grad(const struct op_attr *attr, struct tensor *const *in,
                             struct shape *out, struct err *e)
{
    out[0] = out[1] = in[0]->shape;
    out[0].dim[DIM_C] = attr->split;
    out[1].dim[DIM_C] -= attr->split;
    return 0;
}

static int grad_concat(struct graph *g, const struct op *op, struct err *e)
{
    struct op_attr attr = {.split = op->in[0]->shape.dim[DIM_C]};
    struct op *grad = graph_append(g, &concat_grad_kind, &attr,
                                   (struct tensor *[]){op->out[0]->grad}, NULL, e);

    if (!grad || add_to_grad(g, op->in[0], grad->out[0], e) < 0)
        return -1;
    return add_to_grad(g, op->in[1], grad->out[1], e);
}

const struct op_kind concat_kind = {
    .name = "concat", .nin = 2, .nout = 1, .infer = infer_concat, .grad = grad_concat,
};
const struct op_kind concat_grad_kind = {
    .name = "concat_grad", .nin = 1, .nout = 2, .infer = infer_concat_grad,
};

struct tensor *concat_append(struct graph *g, struct tensor *a, struct tensor *b, struct err *e)
{
    return graph_append_result(g, &concat_kind, NULL, (struct tensor *[]){a, b}, e);
}

/* The shortcut of a residual block that halves the size, and its gradient. */

static int infer_subsample(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    if (attr->channels < x[DIM_C])
        return err_set(e, ERR_INTERNAL, "subsample: fewer channels than the input has");
    out[0] = shape_nhwc(x[DIM_N], (x[DIM_H] + 1) / 2, (x[DIM_W] + 1) / 2, attr->channels);
    return 0;
}

const struct op_kind subsample_kind = {
    .name = "subsample", .nin = 1, .nout = 1, .infer = infer_subsample, .grad = ops_grad_first,
    .grad_kind = &subsample_grad_kind,
};
const struct op_kind subsample_grad_kind = {
    .name = "subsample_grad", .nin = 1, .nout = 1, .infer = ops_infer_sized,
};

struct tensor *subsample_append(struct graph *g, struct tensor *x, int64_t channels, struct err *e)
{
    return graph_append_result(g, &subsample_kind, &(struct op_attr){.channels = channels}, &x, e);
}
