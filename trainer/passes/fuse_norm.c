/* SPDX-License-Identifier: BSD-3-Clause */
/* Each change is planned in copies of the ops, and made if the backend has kernels for all. */
#include "config.h"
#include "trainer/passes/fuse_norm.h"

#include "trainer/passes/fuse_find.h"

static struct op *find_writer(const struct graph *g, const struct tensor *t)
{
    struct op **writer = fuse_find_writer(g, NULL, t);

    return writer ? *writer : NULL;
}

/* Replaces n ops by the planned ones, if the backend has kernels for all of them. `tensor`, which
 * the planned ops share, is replaced by one of the graph with its shape and this name. */
static int replace_ops(struct graph *g, const struct backend *backend, struct op *const *ops,
                       struct op *planned, int n, const struct tensor *tensor, const char *name,
                       struct err *e)
{
    struct tensor *real;

    for (int i = 0; i < n; i++)
        if (!backend_has_kernel(backend, &planned[i]))
            return 0;
    real = graph_tensor(g, name, tensor->shape, e);
    if (!real)
        return -1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < OP_MAX_IN; k++)
            if (planned[i].in[k] == tensor)
                planned[i].in[k] = real;
        for (int k = 0; k < OP_MAX_OUT; k++)
            if (planned[i].out[k] == tensor)
                planned[i].out[k] = real;
        *ops[i] = planned[i];
    }
    return 0;
}

/* Returns whether input k of the op may have an OP_SCALE_SHIFT or OP_SECOND_SCALE_SHIFT. */
static bool takes_scale_shift(const struct op *op, int k)
{
    static const struct op_kind *const kinds[] = {
        &max_pool2d_kind, &max_pool2d_grad_kind, &conv2d_kind, &conv2d_grad_kind,
        &conv_transpose2d_kind, &conv_transpose2d_grad_kind};

    if (op_form(op) & ~(unsigned)(OP_HAS_ADDED | OP_NO_BIAS | OP_HAS_SECOND | OP_WEIGHTS_ONLY))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (op->kind == kinds[i])
            return k == op->kind->source || k == OP_SECOND;
    return false;
}

/* The result of a batch_norm with ReLU is not written if all its readers, at most MAX_READERS, can
 * compute it. */
#define MAX_READERS 8
static int fuse_scale_shift(struct graph *g, const struct backend *backend, struct op *norm,
                            struct err *e)
{
    struct op *ops[MAX_READERS + 1] = {norm}, planned[MAX_READERS + 1] = {*norm};
    struct tensor *y = norm->out[0];
    int n = 1;

    if (norm->kind != &batch_norm_kind || !norm->attr.relu || norm->attr.scale_shift || y->pinned)
        return 0;
    struct tensor scale_shift = {.shape = {2, {2, y->shape.dim[DIM_C]}}};
    planned[0].attr.scale_shift = true;
    planned[0].out[0] = &scale_shift;
    for (size_t i = 0; i < g->nops; i++)
        for (int k = -1; op_next_in(g->ops[i], &k);) {
            struct op *reader = g->ops[i];

            if (reader->in[k] != y)
                continue;
            if (!takes_scale_shift(reader, k) || n > MAX_READERS || ops[n - 1] == reader)
                return 0;
            ops[n] = reader;
            planned[n] = *reader;
            planned[n].in[k] = norm->in[0];
            planned[n++].in[k == OP_SECOND ? OP_SECOND_SCALE_SHIFT : OP_SCALE_SHIFT] = &scale_shift;
        }
    return replace_ops(g, backend, ops, planned, n, &scale_shift, "scale_shift", e);
}

/* If the op that writes the gradient of a norm's result reads the norm's input x anyway, it also
 * computes the sums that the norm's gradient needs. */
static int fuse_sums(struct graph *g, const struct backend *backend, struct op *norm, struct err *e)
{
    bool fits = norm->kind == &batch_norm_grad_kind && norm->attr.relu;
    struct op *writer = fits ? find_writer(g, norm->in[0]) : NULL;

    if (!writer || !writer->in[OP_SCALE_SHIFT] || writer->in[writer->kind->source] != norm->in[1])
        return 0;
    struct tensor sums = {.shape = {2, {2, norm->in[1]->shape.dim[DIM_C]}}};
    struct op planned[] = {*writer, *norm};
    planned[0].out[OP_OUT_SUMS] = planned[1].in[OP_SUMS] = &sums;
    return replace_ops(g, backend, (struct op *[]){writer, norm}, planned, 2, &sums, "sums", e);
}

/* The convolution before a norm also computes the moments of its result. */
static int fuse_moments(struct graph *g, const struct backend *backend, struct op *norm,
                        struct err *e)
{
    struct op *conv = norm->kind == &batch_norm_kind ? find_writer(g, norm->in[0]) : NULL;

    if (!conv || conv->attr.relu || conv->kind != &conv2d_kind || conv->out[OP_OUT_MOMENTS])
        return 0;
    struct tensor moments = {.shape = {2, {2, norm->in[0]->shape.dim[DIM_C]}}};
    struct op planned[] = {*conv, *norm};
    planned[0].out[OP_OUT_MOMENTS] = planned[1].in[OP_MOMENTS] = &moments;
    return replace_ops(g, backend, (struct op *[]){conv, norm}, planned, 2, &moments, "moments",
                       e);
}

/* Returns the op that reads t as input 0, if no other input of any op is t; or NULL. */
static struct op *find_only_reader(const struct graph *g, const struct tensor *t)
{
    struct op *reader = NULL;

    for (size_t i = 0; i < g->nops; i++)
        for (int k = -1; op_next_in(g->ops[i], &k);) {
            if (g->ops[i]->in[k] != t)
                continue;
            if (reader || k > 0)
                return NULL;
            reader = g->ops[i];
        }
    return reader;
}

/* The gradient of a norm's input (of a norm with ReLU) is not written if a single conv2d_grad is
 * its only reader. */
static int fuse_norm_grad(struct graph *g, const struct backend *backend, struct op *norm,
                          struct err *e)
{
    struct tensor *dx = norm->out[0];
    struct op *reader;

    if (norm->kind != &batch_norm_grad_kind || !norm->attr.relu || norm->attr.scale_shift ||
        dx->pinned)
        return 0;
    reader = find_only_reader(g, dx);
    if (!reader || reader->kind != &conv2d_grad_kind)
        return 0;
    struct tensor coef = {.shape = {2, {5, dx->shape.dim[DIM_C]}}};
    struct op planned[] = {*norm, *reader};
    planned[0].attr.scale_shift = true;
    planned[0].out[0] = &coef;
    planned[1].in[0] = norm->in[0];
    planned[1].in[OP_NORM_GRAD_X] = norm->in[1];
    planned[1].in[OP_NORM_GRAD_COEF] = &coef;
    return replace_ops(g, backend, (struct op *[]){norm, reader}, planned, 2, &coef, "coef", e);
}

int fuse_norm_graph(struct graph *g, const struct backend *backend, struct err *e)
{
    for (size_t i = 0; i < g->nops; i++)
        if (fuse_scale_shift(g, backend, g->ops[i], e) < 0)
            return -1;
    for (size_t i = 0; i < g->nops; i++)
        if (fuse_moments(g, backend, g->ops[i], e) < 0 ||
            fuse_norm_grad(g, backend, g->ops[i], e) < 0 ||
            fuse_sums(g, backend, g->ops[i], e) < 0)
            return -1;
    return 0;
}
