/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs all fusions in order. This file has those of neighbouring ops, of a concatenation with the
 * convolution that reads it, of the two gradients of a convolution, and of ReLU with pooling. A
 * fused op is stored in place of one of its parts; the other parts are freed. */
#include "config.h"
#include "trainer/passes/fuse.h"

#include "trainer/passes/fuse_find.h"
#include "trainer/passes/fuse_fold.h"
#include "trainer/passes/fuse_norm.h"
#include "trainer/passes/fuse_relu.h"
#include "trainer/passes/fuse_residual.h"

/* The norm writes the ReLU's result. */
static bool fuse_norm_relu(struct op *norm, struct op *relu)
{
    if ((norm->kind != &batch_norm_kind && norm->kind != &batch_norm_infer_kind) ||
        norm->attr.relu || relu->kind != &relu_kind || relu->in[0] != norm->out[0])
        return false;
    norm->out[0] = relu->out[0];
    *relu = *norm;
    relu->attr.relu = true;
    return true;
}

static bool is_norm_relu(const struct op *op)
{
    return op->kind == &batch_norm_kind && op->attr.relu;
}

/* Returns the batch_norm with attr.relu whose statistics are `saved`, or NULL. */
static const struct op *find_norm_relu(const struct graph *g, const struct tensor *saved)
{
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i] && is_norm_relu(g->ops[i]) && g->ops[i]->out[1] == saved)
            return g->ops[i];
    return NULL;
}

/* relu_grad (dy, y) -> d, batch_norm_grad (d, x, gamma, saved, beta) -> dx becomes
 * batch_norm_grad (dy, x, gamma, saved, beta) -> dx. */
static bool fuse_norm_relu_grad(const struct graph *g, const struct op *relu, struct op *norm)
{
    const struct op *forward;

    if (relu->kind != &relu_grad_kind || norm->kind != &batch_norm_grad_kind ||
        norm->attr.relu || norm->in[0] != relu->out[0])
        return false;
    forward = find_norm_relu(g, norm->in[3]);
    if (!forward || forward->out[0] != relu->in[1])
        return false;
    norm->attr.relu = true;
    norm->in[0] = relu->in[0];
    return true;
}

/* max_pool2d_grad (dy, x) -> d, add (a, d) -> sum becomes max_pool2d_grad with OP_ADDED. */
static bool fuse_pool_grad_add(const struct op *pool, struct op *add)
{
    struct op fused = *pool;

    if (pool->kind != &max_pool2d_grad_kind || add->kind != &add_kind ||
        add->in[1] != pool->out[0])
        return false;
    fused.in[OP_ADDED] = add->in[0];
    fused.out[0] = add->out[0];
    *add = fused;
    return true;
}

/* Fuses two ops that follow each other into the second, if they fit. */
static bool fuse_pair(const struct graph *g, struct op *first, struct op *second)
{
    return graph_is_private(g, first, second) &&
           (fuse_norm_relu(first, second) || fuse_norm_relu_grad(g, first, second) ||
            fuse_pool_grad_add(first, second));
}

/* A concat, the convolution that reads its result, and in training the ops of their gradients: that
 * of the weights, that of the input, and its split. */
struct concat {
    struct op **concat, **conv, **weights, **input, **split;
};

/* Returns whether op i is such a concat, and no other op reads its result or the gradient of
 * that. */
static bool find_concat(const struct graph *g, size_t i, struct concat *c)
{
    if (g->ops[i]->kind != &concat_kind)
        return false;
    const struct tensor *joined = g->ops[i]->out[0], *djoined = joined->grad;
    *c = (struct concat){.concat = &g->ops[i],
                         .conv = fuse_find_reader(g, &conv2d_kind, 0, joined)};
    if (joined->pinned || !c->conv)
        return false;
    if (!djoined)
        return fuse_find_nreaders(g, joined) == 1;
    c->weights = fuse_find_reader(g, &conv2d_grad_kind, 2, joined);
    c->input = fuse_find_writer(g, &conv2d_grad_kind, djoined);
    c->split = fuse_find_reader(g, &concat_grad_kind, 0, djoined);
    return c->weights && c->input && c->split && fuse_find_nreaders(g, joined) == 2 &&
           fuse_find_nreaders(g, djoined) == 1;
}

/* Sets the fused convolution and, in training, its gradients. */
static void join_concat(const struct concat *c, struct op *conv, struct op *weights,
                        struct op *input)
{
    struct tensor *const *sources = (*c->concat)->in;

    *conv = **c->conv;
    conv->in[0] = sources[0];
    conv->in[OP_SECOND] = sources[1];
    if (!c->split)
        return;
    *weights = **c->weights;
    weights->in[2] = sources[0];
    weights->in[OP_SECOND] = sources[1];
    *input = **c->input;
    input->out[0] = (*c->split)->out[0];
    input->out[OP_OUT_SECOND] = (*c->split)->out[1];
    input->attr.split = (*c->split)->attr.split;
}

static void fuse_concat(struct graph *g, const struct backend *backend, size_t i)
{
    struct op conv, weights, input;
    struct concat c;

    if (!find_concat(g, i, &c))
        return;
    join_concat(&c, &conv, &weights, &input);
    if (!backend_has_kernel(backend, &conv) ||
        (c.split && !(backend_has_kernel(backend, &weights) &&
                      backend_has_kernel(backend, &input))))
        return;
    **c.conv = conv;
    fuse_drop(c.concat);
    if (!c.split)
        return;
    **c.weights = weights;
    **c.input = input;
    fuse_drop(c.split);
}

/* A ReLU, the pooling that reads its result, and their gradients. */
struct relu_pool {
    struct op **relu, **pool, **pool_grad, **relu_grad;
};

/* Returns whether op i is such a ReLU, and no other op reads the tensors between. */
static bool find_relu_pool(const struct graph *g, size_t i, struct relu_pool *c)
{
    const struct tensor *between = g->ops[i]->out[0];

    *c = (struct relu_pool){.relu = &g->ops[i],
                            .pool = fuse_find_reader(g, &max_pool2d_kind, 0, between),
                            .pool_grad = fuse_find_reader(g, &max_pool2d_grad_kind, 1, between),
                            .relu_grad = fuse_find_reader(g, &relu_grad_kind, 1, between)};
    return g->ops[i]->kind == &relu_kind && !between->pinned && c->pool && c->pool_grad &&
           c->relu_grad && (*c->relu_grad)->in[0] == (*c->pool_grad)->out[0] &&
           fuse_find_nreaders(g, between) == 3 &&
           fuse_find_nreaders(g, (*c->pool_grad)->out[0]) == 1;
}

static int fuse_relu_pool(struct graph *g, const struct backend *backend, size_t i, struct err *e)
{
    struct relu_pool c;
    struct shape shapes[2];

    if (!find_relu_pool(g, i, &c))
        return 0;
    struct tensor *x = (*c.relu)->in[0], *y = (*c.pool)->out[0];
    struct op forward = {.kind = &relu_max_pool2d_kind, .in = {x}, .out = {y}};
    if (forward.kind->infer(&forward.attr, forward.in, shapes, e) < 0)
        return -1;
    struct tensor planned = {.shape = shapes[1]}, *places;
    struct op grad = {.kind = &relu_max_pool2d_grad_kind,
                      .in = {(*c.pool_grad)->in[0], y, &planned}, .out = {(*c.relu_grad)->out[0]}};
    forward.out[1] = &planned;
    grad.attr.height = x->shape.dim[DIM_H];
    grad.attr.width = x->shape.dim[DIM_W];
    if (!backend_has_kernel(backend, &forward) || !backend_has_kernel(backend, &grad))
        return 0;
    places = graph_tensor(g, "places", shapes[1], e);
    if (!places)
        return -1;
    forward.out[1] = grad.in[2] = places;
    **c.pool = forward;
    fuse_drop(c.relu);
    **c.relu_grad = grad;
    fuse_drop(c.pool_grad);
    return 0;
}

/* Returns the op after g->ops[at], the gradient of a convolution's weights, that computes the
 * gradient of its input, or NULL. */
static struct op **find_grad_input(const struct graph *g, size_t at)
{
    const struct op *weights = g->ops[at];

    for (size_t i = at + 1; i < g->nops; i++) {
        const struct op *op = g->ops[i];

        if (op && op->kind == weights->kind && (op_form(op) & OP_INPUT_ONLY) &&
            op->in[0] == weights->in[0] && op->in[1]->grad == weights->out[1])
            return &g->ops[i];
    }
    return NULL;
}

static void fuse_conv_grads(struct graph *g, const struct backend *backend, size_t i)
{
    const struct op *weights = g->ops[i];
    struct op **input = op_form(weights) & OP_WEIGHTS_ONLY ? find_grad_input(g, i) : NULL;

    if (!input)
        return;
    struct op fused = *weights;
    fused.attr.split = (*input)->attr.split;
    fused.in[1] = (*input)->in[1];
    fused.out[0] = (*input)->out[0];
    fused.out[OP_OUT_SECOND] = (*input)->out[OP_OUT_SECOND];
    if (!backend_has_kernel(backend, &fused))
        return;
    **input = fused;
    fuse_drop(&g->ops[i]);
}

void fuse_drop_bias_grads(struct graph *g)
{
    for (size_t i = 0; i < g->nops; i++) {
        struct op *op = g->ops[i];

        if (op->kind != &conv2d_grad_kind || !op->out[2] ||
            !fuse_find_writer(g, &batch_norm_grad_kind, op->in[0]))
            continue;
        op->out[2] = NULL;
        op->attr.no_bias = true;
    }
}

int fuse_graph(struct graph *g, const struct backend *backend, struct err *e)
{
    int rc = 0;

    if (fuse_fold_graph(g, backend, e) < 0)
        return -1;
    for (size_t i = 0; i + 1 < g->nops; i++)
        if (fuse_pair(g, g->ops[i], g->ops[i + 1]))
            fuse_drop(&g->ops[i]);
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i])
            fuse_concat(g, backend, i);
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i])
            fuse_conv_grads(g, backend, i);
    for (size_t i = 0; i < g->nops && rc == 0; i++)
        if (g->ops[i])
            rc = fuse_relu_pool(g, backend, i, e);
    if (rc == 0)
        fuse_relu_graph(g, backend);
    graph_close_up(g);
    if (rc == 0)
        rc = fuse_residual_graph(g, backend, e);
    return rc ? rc : fuse_norm_graph(g, backend, e);
}
