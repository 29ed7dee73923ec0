/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/core/fuse.h"

#include <stdlib.h>

/* Does only `reader` read what `writer` writes first, and nobody later? */
static bool is_private(const struct graph *g, const struct op *writer, const struct op *reader)
{
    const struct tensor *t = writer->out[0];

    if (t->pinned || t->place != TENSOR_ARENA)
        return false;
    for (size_t i = 0; i < g->nops; i++)
        for (int k = 0; g->ops[i] && g->ops[i] != reader && k < g->ops[i]->kind->nin; k++)
            if (g->ops[i]->in[k] == t)
                return false;
    return true;
}

/* (x, gamma, beta, mean, var) -> y, saved becomes what relu has written. */
static bool fuse_relu(struct op *norm, struct op *relu)
{
    const struct op_kind *kind = norm->kind == &batch_norm_kind ? &batch_norm_relu_kind
                                 : norm->kind == &batch_norm_infer_kind
                                     ? &batch_norm_relu_infer_kind
                                     : NULL;

    if (!kind || relu->kind != &relu_kind || relu->in[0] != norm->out[0])
        return false;
    norm->out[0] = relu->out[0];
    *relu = *norm;
    relu->kind = kind;
    return true;
}

/* The fused op whose statistics are `saved`. */
static const struct op *find_norm_relu(const struct graph *g, const struct tensor *saved)
{
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i] && g->ops[i]->kind == &batch_norm_relu_kind && g->ops[i]->out[1] == saved)
            return g->ops[i];
    return NULL;
}

/* (dy, y), (d, x, gamma, saved) -> dx becomes (dy, x, gamma, saved, beta) -> dx. */
static bool fuse_relu_grad(const struct graph *g, const struct op *relu, struct op *norm)
{
    const struct op *forward;

    if (relu->kind != &relu_grad_kind || norm->kind != &batch_norm_grad_kind ||
        norm->in[0] != relu->out[0])
        return false;
    forward = find_norm_relu(g, norm->in[3]);
    if (!forward || forward->out[0] != relu->in[1])
        return false;
    norm->kind = &batch_norm_relu_grad_kind;
    norm->in[0] = relu->in[0];
    norm->in[4] = forward->in[2];
    return true;
}

/* (dy, x) -> d, (a, d) -> a + d becomes (a, dy, x) -> a + d. */
static bool fuse_add(const struct op *pool, struct op *add)
{
    if (pool->kind != &max_pool2d_grad_kind || add->kind != &add_kind ||
        add->in[1] != pool->out[0])
        return false;
    add->kind = &max_pool2d_grad_add_kind;
    add->in[1] = pool->in[0];
    add->in[2] = pool->in[1];
    return true;
}

/* Ops that belong together stand next to each other: first and second become second. */
static bool fuse_pair(const struct graph *g, struct op *first, struct op *second)
{
    return is_private(g, first, second) &&
           (fuse_relu(first, second) || fuse_relu_grad(g, first, second) ||
            fuse_add(first, second));
}

void fuse_graph(struct graph *g)
{
    size_t n = 0, nforward = g->nforward;

    for (size_t i = 0; i + 1 < g->nops; i++)
        if (fuse_pair(g, g->ops[i], g->ops[i + 1])) {
            free(g->ops[i]);
            g->ops[i] = NULL;
            if (i < nforward)
                g->nforward--;
        }
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i])
            g->ops[n++] = g->ops[i];
    g->nops = n;
}
