/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm in training, alone and with the ReLU behind it, their gradients, and batch norm by the
 * running statistics. */
#include "config.h"
#include "trainer/ops/ops.h"

static int check_channels(struct tensor *const *in, int from, int nin, int64_t channels,
                          struct err *e)
{
    for (int i = from; i < nin; i++)
        if (in[i]->shape.dim[in[i]->shape.ndim - 1] != channels)
            return err_set(e, ERR_INTERNAL, "batch_norm: %s does not fit its input", in[i]->name);
    return 0;
}

static int infer_batch_norm(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                            struct err *e)
{
    int64_t channels = in[0]->shape.dim[DIM_C];

    out[1] = (struct shape){2, {2, channels}};
    out[0] = in[0]->shape;
    return check_channels(in, 1, 5, channels, e);
}

static int infer_batch_norm_infer(const struct op_attr *attr, struct tensor *const *in,
                                  struct shape *out, struct err *e)
{
    out[0] = in[0]->shape;
    return check_channels(in, 1, 5, in[0]->shape.dim[DIM_C], e);
}

static int infer_batch_norm_grad(const struct op_attr *attr, struct tensor *const *in,
                                 struct shape *out, struct err *e)
{
    int64_t channels = in[0]->shape.dim[DIM_C];

    out[0] = in[0]->shape;
    out[1] = out[2] = (struct shape){1, {channels}};
    return check_channels(in, 1, 5, channels, e);
}

static int grad_batch_norm(struct graph *g, const struct op *op, struct err *e)
{
    struct tensor *x = op->in[0], *gamma = op->in[1], *beta = op->in[2], *saved = op->out[1];
    const struct op_kind *kind = op->kind == &batch_norm_kind ? &batch_norm_grad_kind
                                                              : &batch_norm_relu_grad_kind;
    struct op *grad = graph_append(g, kind, &op->attr,
                                   (struct tensor *[]){op->out[0]->grad, x, gamma, saved, beta},
                                   (struct tensor *[]){NULL, gamma->grad, beta->grad}, e);

    return grad ? add_to_grad(g, x, grad->out[0], e) : -1;
}

const struct op_kind batch_norm_kind = {
    .name = "batch_norm", .nin = 5, .nout = 2, .infer = infer_batch_norm, .grad = grad_batch_norm,
};
const struct op_kind batch_norm_grad_kind = {
    .name = "batch_norm_grad", .nin = 5, .nout = 3, .inplace = true, .infer = infer_batch_norm_grad,
};
const struct op_kind batch_norm_relu_kind = {
    .name = "batch_norm_relu", .nin = 5, .nout = 2, .infer = infer_batch_norm,
    .grad = grad_batch_norm,
};
const struct op_kind batch_norm_relu_grad_kind = {
    .name = "batch_norm_relu_grad", .nin = 5, .nout = 3, .inplace = true,
    .infer = infer_batch_norm_grad,
};
const struct op_kind batch_norm_infer_kind = {
    .name = "batch_norm_infer", .nin = 5, .nout = 1, .inplace = true,
    .infer = infer_batch_norm_infer,
};

static struct tensor *add_vector(struct graph *g, const char *name, const char *what,
                                 enum weights_role role, int64_t channels, double value,
                                 struct err *e)
{
    return graph_param(g, name, what, role, (struct shape){1, {channels}}, value, value, e);
}

struct tensor *batch_norm_append(struct graph *g, const char *name, struct tensor *x, bool sync,
                                 struct err *e)
{
    struct op_attr attr = {.eps = 1e-5, .momentum = 0.1, .sync = sync};
    struct tensor *in[5] = {x};
    int64_t channels;

    if (!x)
        return NULL;
    channels = x->shape.dim[DIM_C];
    in[1] = add_vector(g, name, "weight", WEIGHTS_PARAM, channels, 1, e);
    if (in[1])
        in[2] = add_vector(g, name, "bias", WEIGHTS_PARAM, channels, 0, e);
    if (in[2])
        in[3] = add_vector(g, name, "running_mean", WEIGHTS_STATE, channels, 0, e);
    if (in[3])
        in[4] = add_vector(g, name, "running_var", WEIGHTS_STATE, channels, 1, e);
    return graph_append_result(g, g->training ? &batch_norm_kind : &batch_norm_infer_kind, &attr,
                               in, e);
}
