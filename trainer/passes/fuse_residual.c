/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuses the end of each residual block, and repeats it for gradients if that saves memory. */
#include "config.h"
#include "trainer/passes/fuse_residual.h"

#include <stdlib.h>
#include <string.h>

/* Returns the index of the only op that reads writer->out[0], if it is a forward op of this kind;
 * else 0. */
static size_t find_only_reader(const struct graph *g, const struct op *writer,
                               const struct op_kind *kind)
{
    for (size_t i = 1; i < g->nforward; i++) {
        const struct op *op = g->ops[i];

        if (op && op->kind == kind && graph_is_private(g, writer, op) &&
            (op->in[0] == writer->out[0] || op->in[1] == writer->out[0]))
            return i;
    }
    return 0;
}

static size_t find_in_gradients(const struct graph *g, const struct tensor *t)
{
    for (size_t i = g->nforward; i < g->nops; i++)
        if (g->ops[i])
            for (int k = -1; op_next_in(g->ops[i], &k);)
                if (g->ops[i]->in[k] == t)
                    return i;
    return g->nops;
}

/* batch_norm (x, ...) -> y; add (y, shortcut) -> sum; relu (sum) -> z becomes batch_norm with
 * attr.scale_shift (x, ...) -> scale_shift; add with attr.relu (x, shortcut, scale_shift) -> z, in
 * the place of relu.
 * Sets *place to the index of that add, or to 0 if op i does not begin such a block or the backend
 * has no kernels for it. */
static int fuse_end(struct graph *g, const struct backend *backend, size_t i, size_t *place,
                    struct err *e)
{
    struct op *norm = g->ops[i];
    size_t at_add = norm->kind == &batch_norm_kind ? find_only_reader(g, norm, &add_kind) : 0;
    size_t at_relu = at_add ? find_only_reader(g, g->ops[at_add], &relu_kind) : 0;

    *place = 0;
    if (!at_relu || op_form(norm))
        return 0;
    struct op *add = g->ops[at_add], *relu = g->ops[at_relu];
    struct tensor *x = norm->in[0], *shortcut = add->in[add->in[0] == norm->out[0]];
    struct tensor planned = {.shape = {2, {2, x->shape.dim[DIM_C]}}}, *scale_shift;
    struct op first = *norm, end = {.kind = &add_kind, .attr.relu = true,
                                    .in = {x, shortcut, [OP_NORM_SCALE_SHIFT] = &planned},
                                    .out = {relu->out[0]}};

    first.attr.relu = first.attr.scale_shift = true;
    first.out[0] = &planned;
    /* For the add a kernel of the fallback is enough: it is limited by memory, too. */
    if (!backend_has_kernel(backend, &first) || !backend_kernel(backend, &end))
        return 0;
    scale_shift = graph_tensor(g, "scale_shift", planned.shape, e);
    if (!scale_shift)
        return -1;
    first.out[0] = end.in[OP_NORM_SCALE_SHIFT] = scale_shift;
    *norm = first;
    *relu = end;
    free(add);
    g->ops[at_add] = NULL;
    *place = at_relu;
    return 0;
}

/* Inserts a copy of the op before g->ops[place]; that and later ops read the copy's result. */
static int repeat_op(struct graph *g, const struct op *op, size_t place, struct err *e)
{
    struct op like = *op, *again;

    like.out[0] = NULL;
    again = graph_append_op(g, &like, e);
    if (!again)
        return -1;
    memmove(g->ops + place + 1, g->ops + place, (g->nops - 1 - place) * sizeof(struct op *));
    g->ops[place] = again;
    for (size_t i = place + 1; i < g->nops; i++)
        if (g->ops[i])
            for (int k = -1; op_next_in(g->ops[i], &k);)
                if (g->ops[i]->in[k] == op->out[0])
                    g->ops[i]->in[k] = again->out[0];
    return 0;
}

/* Repeats the add for the gradients, if they read both its inputs anyway. */
static int repeat_end(struct graph *g, const struct op *op, struct err *e)
{
    size_t place = find_in_gradients(g, op->out[0]);

    if (place == g->nops || op->out[0]->pinned)
        return 0;
    for (int k = 0; k < 2; k++)
        if (op->in[k]->place != TENSOR_ARENA || find_in_gradients(g, op->in[k]) == g->nops)
            return 0;
    return repeat_op(g, op, place, e);
}

static int fuse_block(struct graph *g, const struct backend *backend, size_t i, struct err *e)
{
    size_t place;

    if (fuse_end(g, backend, i, &place, e) < 0)
        return -1;
    return place ? repeat_end(g, g->ops[place], e) : 0;
}

int fuse_residual_graph(struct graph *g, const struct backend *backend, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; g->training && i < g->nforward && rc == 0; i++)
        if (g->ops[i])
            rc = fuse_block(g, backend, i, e);
    graph_close_up(g);
    return rc;
}
