/* SPDX-License-Identifier: BSD-3-Clause */
/* Ops that take several numbers together: batch norms, pools and losses. */
#include "src/base.h"
#include "trainer/ops/ops.h"

/* Batch norm in training, alone and with the ReLU behind it, their gradients, and batch norm by the
 * running statistics. */

static int infer_batch_norm(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    out[0] = in[0]->shape;
    out[1] = (struct shape){2, {2, in[0]->shape.dim[DIM_C]}};
    return 0;
}

/* Gradients of x, gamma and beta. */
static int infer_norm_grad(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    out[0] = in[0]->shape;
    out[1] = out[2] = (struct shape){1, {in[0]->shape.dim[DIM_C]}};
    return 0;
}

/* The last input is not read by all kinds. */
static int grad_norm(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *gamma = op->in[1], *beta = op->in[2], *saved = op->out[1];
    struct op *grad = graph_append(g, op->kind->grad_kind, &op->attr,
                                   (struct tensor *[]){op->out[0]->grad, x, gamma, saved, beta},
                                   (struct tensor *[]){NULL, gamma->grad, beta->grad}, e);

    return grad ? add_to_grad(g, x, grad->out[0], e) : -1;
}

const struct op_kind batch_norm_kind = {
    .name = "batch_norm", .nin = 5, .nout = 2, .infer = infer_batch_norm, .grad = grad_norm,
    .grad_kind = &batch_norm_grad_kind,
};
const struct op_kind batch_norm_grad_kind = {
    .name = "batch_norm_grad", .nin = 5, .nout = 3, .inplace = true, .infer = infer_norm_grad,
};
const struct op_kind batch_norm_relu_kind = {
    .name = "batch_norm_relu", .nin = 5, .nout = 2, .infer = infer_batch_norm,
    .grad = grad_norm, .grad_kind = &batch_norm_relu_grad_kind,
};
const struct op_kind batch_norm_relu_grad_kind = {
    .name = "batch_norm_relu_grad", .nin = 5, .nout = 3, .inplace = true,
    .infer = infer_norm_grad,
};
const struct op_kind batch_norm_infer_kind = {
    .name = "batch_norm_infer", .nin = 5, .nout = 1, .inplace = true,
    .infer = ops_infer_same_shape,
};

/* Sets in[1] to in[n] to parameters of a norm. Leaves the last NULL on error. */
static void add_vectors(struct graph *g, const char *name, struct tensor **in, int n, struct err *e)
{
    static const struct {
        const char *what;
        enum weights_role role;
        double value;
    } all[] = {{"weight", WEIGHTS_PARAM, 1}, {"bias", WEIGHTS_PARAM, 0},
               {"running_mean", WEIGHTS_STATE, 0}, {"running_var", WEIGHTS_STATE, 1}};
    struct shape shape = {1, {in[0]->shape.dim[DIM_C]}};

    for (int i = 0; i < n && in[i]; i++)
        in[i + 1] = graph_param(g, name, all[i].what, all[i].role, shape, all[i].value,
                                all[i].value, e);
}

struct tensor *batch_norm_append(struct graph *g, const char *name, struct tensor *x, bool sync,
                                 struct err *e)
{
    struct op_attr attr = {.eps = 1e-5, .momentum = 0.1, .sync = sync};
    struct tensor *in[5] = {x};

    if (!x)
        return NULL;
    add_vectors(g, name, in, 4, e);
    return graph_append_result(g, g->training ? &batch_norm_kind : &batch_norm_infer_kind, &attr,
                               in, e);
}

/* Group norm and its gradient. */

static int infer_group_norm(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    int64_t channels = in[0]->shape.dim[DIM_C], groups = attr->groups ? attr->groups : channels;

    out[0] = in[0]->shape;
    out[1] = (struct shape){2, {2, in[0]->shape.dim[DIM_N] * groups}};
    return 0;
}

const struct op_kind group_norm_kind = {
    .name = "group_norm", .nin = 3, .nout = 2, .infer = infer_group_norm, .grad = grad_norm,
    .grad_kind = &group_norm_grad_kind,
};
const struct op_kind group_norm_grad_kind = {
    .name = "group_norm_grad", .nin = 4, .nout = 3, .inplace = true,
    .infer = infer_norm_grad,
};

struct tensor *group_norm_append(struct graph *g, const char *name, struct tensor *x,
                                 int64_t groups, struct err *e)
{
    struct op_attr attr = {.eps = 1e-5, .groups = groups};
    struct tensor *in[3] = {x};

    if (!x)
        return NULL;
    add_vectors(g, name, in, 2, e);
    return graph_append_result(g, &group_norm_kind, &attr, in, e);
}

/* The op that folds a batch norm into a convolution's weights; passes/ appends it. */

enum { OUT_CHANNELS }; /* index into the shape of the weights, [O][I][K][K] */

static int infer_fold_norm(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                           struct err *e)
{
    out[0] = in[0]->shape;
    out[1] = (struct shape){1, {in[0]->shape.dim[OUT_CHANNELS]}};
    return 0;
}

const struct op_kind fold_norm_kind = {
    .name = "fold_norm", .nin = 6, .nout = 2, .may_lack_in = 1 << 5, .infer = infer_fold_norm,
};

/* The op max_pool2d and its gradient. */

static int infer_max_pool2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    if (attr->kernel != 3)
        return ops_infer_pooled(attr, in, out, e);
    out[0] = shape_nhwc(x[DIM_N], (x[DIM_H] + 1) / 2, (x[DIM_W] + 1) / 2, x[DIM_C]);
    return 0;
}

const struct op_kind max_pool2d_kind = {
    .name = "max_pool2d", .nin = 1, .nout = 1, .infer = infer_max_pool2d, .grad = ops_grad_first,
    .grad_kind = &max_pool2d_grad_kind,
};
const struct op_kind max_pool2d_grad_kind = {
    .name = "max_pool2d_grad", .nin = 2, .nout = 1, .infer = ops_infer_sized,
};
const struct op_kind max_pool2d_grad_add_kind = {
    .name = "max_pool2d_grad_add", .nin = 3, .nout = 1, .inplace = true,
    .infer = ops_infer_same_shape,
};

struct tensor *max_pool2d_append(struct graph *g, struct tensor *x, int kernel, struct err *e)
{
    struct op_attr attr = {.kernel = kernel == 3 ? 3 : 0};

    return graph_append_result(g, &max_pool2d_kind, &attr, &x, e);
}

/* The op avg_pool2d and its gradient. */

const struct op_kind avg_pool2d_kind = {
    .name = "avg_pool2d", .nin = 1, .nout = 1, .infer = ops_infer_pooled, .grad = ops_grad_first,
    .grad_kind = &avg_pool2d_grad_kind,
};
const struct op_kind avg_pool2d_grad_kind = {
    .name = "avg_pool2d_grad", .nin = 1, .nout = 1, .infer = ops_infer_sized,
};

struct tensor *avg_pool2d_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &avg_pool2d_kind, NULL, &x, e);
}

/* The op upsample2d and its gradient. */

static int infer_upsample2d(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    out[0] = shape_nhwc(x[DIM_N], 2 * x[DIM_H], 2 * x[DIM_W], x[DIM_C]);
    return 0;
}

const struct op_kind upsample2d_kind = {
    .name = "upsample2d", .nin = 1, .nout = 1, .infer = infer_upsample2d, .grad = ops_grad_first,
    .grad_kind = &upsample2d_grad_kind,
};
const struct op_kind upsample2d_grad_kind = {
    .name = "upsample2d_grad", .nin = 1, .nout = 1, .infer = ops_infer_pooled,
};

struct tensor *upsample2d_append(struct graph *g, struct tensor *x, bool bilinear, struct err *e)
{
    return graph_append_result(g, &upsample2d_kind, &(struct op_attr){.bilinear = bilinear}, &x, e);
}

/* The mean over height and width, and its gradient. */

static int infer_pool(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                      struct err *e)
{
    const int64_t *x = in[0]->shape.dim;

    out[0] = shape_nhwc(x[DIM_N], 1, 1, x[DIM_C]);
    return 0;
}

const struct op_kind global_avg_pool_kind = {
    .name = "global_avg_pool", .nin = 1, .nout = 1, .infer = infer_pool, .grad = ops_grad_first,
    .grad_kind = &global_avg_pool_grad_kind,
};
const struct op_kind global_avg_pool_grad_kind = {
    .name = "global_avg_pool_grad", .nin = 1, .nout = 1, .infer = ops_infer_sized,
};

struct tensor *global_avg_pool_append(struct graph *g, struct tensor *x, struct err *e)
{
    return graph_append_result(g, &global_avg_pool_kind, NULL, &x, e);
}

/* The ops of losses, and which of them loss_append chooses. A kernel of a loss computes value and
 * gradient at the same time. */

static int grad_loss(struct graph *g, const struct op *op, struct err *e)
{
    return add_to_grad(g, op->in[0], op->out[0], e);
}

const struct op_kind bce_kind = {
    .name = "bce", .nin = 2, .nout = 1, .inplace = true, .is_loss = true,
    .infer = ops_infer_same_shape, .grad = grad_loss,
};
const struct op_kind softmax_ce_kind = {
    .name = "softmax_ce", .nin = 2, .nout = 1, .inplace = true, .is_loss = true,
    .infer = ops_infer_same_shape, .grad = grad_loss,
};
const struct op_kind dice_kind = {
    .name = "dice", .nin = 2, .nout = 1, .inplace = true, .is_loss = true,
    .infer = ops_infer_same_shape, .grad = grad_loss,
};

int loss_append(struct graph *g, const struct loss_terms *terms, struct tensor *logits,
                struct tensor *target, struct err *e)
{
    struct op_attr attr = {.class_weights = terms->ce_weights, .gamma = terms->gamma,
                           .alpha = terms->alpha, .beta = terms->beta,
                           .counts = true, .measures = g->measures};
    enum loss loss = terms->loss;
    struct tensor *in[2] = {logits, target};
    const struct op_kind *ce = logits && tensor_channels(logits) > 1 ? &softmax_ce_kind : &bce_kind;

    if (loss != LOSS_DICE && !graph_append(g, ce, &attr, in, NULL, e))
        return -1;
    attr.counts = loss == LOSS_DICE;
    attr.class_weights = terms->dice_weights;
    return loss == LOSS_CE || graph_append(g, &dice_kind, &attr, in, NULL, e) ? 0 : -1;
}
