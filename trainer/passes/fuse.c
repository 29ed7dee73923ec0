/* SPDX-License-Identifier: BSD-3-Clause */
/* Each pattern in turn goes through the whole graph. What replaces two ops is stored in place of
 * the second; the first is freed, or becomes fold_norm. */
#include "config.h"
#include "trainer/passes/fuse.h"

#include <stdlib.h>

/* x -> y, relu (y) -> z becomes x -> z. */
static bool join_relu(const struct graph *g, const struct op *first, const struct op *relu,
                      struct op *fused)
{
    *fused = *first;
    fused->out[0] = relu->out[0];
    return relu->in[0] == first->out[0] && graph_is_private(g, first, relu);
}

/* Returns whether some op is batch_norm_relu (...) -> y, saved. */
static bool is_norm_relu(const struct graph *g, const struct tensor *y, const struct tensor *saved)
{
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i] && g->ops[i]->kind == &batch_norm_relu_kind && g->ops[i]->out[0] == y &&
            g->ops[i]->out[1] == saved)
            return true;
    return false;
}

/* relu_grad (dy, y) -> d, batch_norm_grad (d, x, gamma, saved, beta) -> dx becomes
 * batch_norm_relu_grad (dy, x, gamma, saved, beta) -> dx. */
static bool join_norm_relu_grad(const struct graph *g, const struct op *relu,
                                const struct op *norm, struct op *fused)
{
    *fused = *norm;
    fused->in[0] = relu->in[0];
    return norm->in[0] == relu->out[0] && graph_is_private(g, relu, norm) &&
           is_norm_relu(g, relu->in[1], norm->in[3]);
}

/* max_pool2d_grad (dy, x) -> d, add (a, d) -> sum becomes max_pool2d_grad_add (a, dy, x) -> sum. */
static bool join_pool_grad_add(const struct graph *g, const struct op *pool, const struct op *add,
                               struct op *fused)
{
    *fused = (struct op){.in = {add->in[0], pool->in[0], pool->in[1]}, .out = {add->out[0]}};
    return add->in[1] == pool->out[0] && add->in[0] != pool->out[0] &&
           graph_is_private(g, pool, add);
}

/* conv2d_grad_weights (dy, x) -> dw, db, conv2d_grad_input (dy, w) -> dx becomes
 * conv2d_grad (dy, w, x) -> dx, dw, db. */
static bool join_conv_grads(const struct graph *g, const struct op *weights,
                            const struct op *input, struct op *fused)
{
    *fused = (struct op){.attr = input->attr,
                         .in = {input->in[0], input->in[1], weights->in[1]},
                         .out = {input->out[0], weights->out[0], weights->out[1]}};
    return input->in[0] == weights->in[0] && input->in[1]->grad == weights->out[0];
}

/* Two neighbouring kinds and the kind that replaces them. own: only if the backend has a kernel of
 * its own for the result; otherwise always. */
static const struct pattern {
    const struct op_kind *of[2], *by;
    bool own;
    bool (*join)(const struct graph *g, const struct op *first, const struct op *second,
                 struct op *fused); /* fills *fused; returns whether the two fit */
} patterns[] = {
    {{&batch_norm_kind, &relu_kind}, &batch_norm_relu_kind, false, join_relu},
    {{&relu_grad_kind, &batch_norm_grad_kind}, &batch_norm_relu_grad_kind, false,
     join_norm_relu_grad},
    {{&max_pool2d_grad_kind, &add_kind}, &max_pool2d_grad_add_kind, false, join_pool_grad_add},
    {{&conv2d_kind, &relu_kind}, &conv2d_relu_kind, true, join_relu},
    {{&conv2d_grad_weights_kind, &conv2d_grad_input_kind}, &conv2d_grad_kind, true,
     join_conv_grads},
};

static void replace(struct graph *g, const struct backend *backend, const struct pattern *p,
                    struct op **first, struct op *second)
{
    struct op fused;

    if ((*first)->kind != p->of[0] || second->kind != p->of[1] ||
        !p->join(g, *first, second, &fused))
        return;
    fused.kind = p->by;
    if (p->own && !backend_has_kernel(backend, &fused))
        return;
    *second = fused;
    free(*first);
    *first = NULL;
}

/* conv2d (x, w, b) -> y, batch_norm_infer (y, gamma, ...) -> z becomes fold_norm (w, gamma, ...,
 * b) -> w', b', conv2d (x, w', b') -> z. */
static int fold_norm(struct graph *g, const struct backend *backend, struct op *conv,
                     struct op *norm, struct err *e)
{
    struct tensor *const *k = norm->in, *w = conv->in[1];
    struct op fold = {.kind = &fold_norm_kind, .attr = norm->attr,
                      .in = {w, k[1], k[2], k[3], k[4], conv->in[2]}};

    if (conv->kind != &conv2d_kind || norm->kind != &batch_norm_infer_kind ||
        k[0] != conv->out[0] || !graph_is_private(g, conv, norm) || !backend_kernel(backend, &fold))
        return 0;
    fold.out[0] = graph_tensor(g, "folded_weight", w->shape, e);
    fold.out[1] = graph_tensor(g, "folded_bias", k[1]->shape, e);
    if (!fold.out[0] || !fold.out[1])
        return -1;
    fold.out[0]->is_weight = true;
    fold.out[0]->pinned = fold.out[1]->pinned = true; /* as a kernel's begin may write them */
    *norm = (struct op){.kind = &conv2d_kind, .attr = conv->attr,
                        .in = {conv->in[0], fold.out[0], fold.out[1]}, .out = {norm->out[0]}};
    *conv = fold;
    return 0;
}

void fuse_drop_bias_grads(struct graph *g)
{
    for (size_t i = 0; i < g->nops; i++)
        for (size_t k = 0; k < i && g->ops[i]->kind == &conv2d_grad_weights_kind; k++)
            if (g->ops[k]->kind == &batch_norm_grad_kind &&
                g->ops[k]->out[0] == g->ops[i]->in[0])
                g->ops[i]->out[1] = NULL;
}

int fuse_graph(struct graph *g, const struct backend *backend, struct err *e)
{
    for (size_t i = 0; i + 1 < g->nops; i++)
        if (fold_norm(g, backend, g->ops[i], g->ops[i + 1], e) < 0)
            return -1;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t i = 0; i + 1 < g->nops; i++)
            replace(g, backend, &patterns[p], &g->ops[i], g->ops[i + 1]);
        graph_close_up(g);
    }
    return 0;
}
