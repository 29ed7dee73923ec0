/* SPDX-License-Identifier: BSD-3-Clause */
/* Casts are appended at the end of the graph, and then moved before or after the ops that need
 * them; the order of the other ops does not change. */
#include "config.h"
#include "trainer/passes/precision.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

static const char *const names[] = {
    [DTYPE_F32] = "f32", [DTYPE_BF16] = "bf16", [DTYPE_F16] = "fp16"};

const char *precision_name(enum dtype t)
{
    return names[t];
}

int precision_parse(const char *name, enum dtype *t, bool *tf32, struct err *e)
{
    *tf32 = strcmp(name, "tf32") == 0;
    if (*tf32) {
        *t = DTYPE_F32;
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *t = (enum dtype)i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "%s: must be f32, tf32, bf16 or fp16", name);
}

/* Returns whether op computes a gradient of logits: it is a loss, or an add of floats, which sums
 * such gradients. */
static bool is_of_losses(const struct op *op)
{
    return op->kind->is_loss ||
           (op->kind == &add_kind && op->in[0]->dtype == DTYPE_F32 &&
            op->in[1]->dtype == DTYPE_F32);
}

/* Returns whether t, a result of op, becomes a tensor of 16 bits. */
static bool is_lowered(const struct graph *g, const struct op *op, const struct tensor *t)
{
    return t->place == TENSOR_ARENA && t->shape.ndim == 4 && t != g->logits && !is_of_losses(op);
}

void precision_mark(struct graph *g, enum dtype t)
{
    for (size_t i = 0; i < g->nops; i++) {
        const struct op *op = g->ops[i];

        for (int k = -1; op_next_out(op, &k);)
            if (is_lowered(g, op, op->out[k]))
                op->out[k]->dtype = t;
    }
}

/* The casts, which are appended to the graph's ops and moved to their places by sort_ops. */
struct casts {
    size_t *places; /* cast i belongs before op places[i] / 2, or after it if places[i] is odd */
    size_t n;
};

static int append_cast(struct graph *g, struct casts *c, size_t place, struct tensor *src,
                       struct tensor **dst, struct err *e)
{
    const struct op *op = graph_append(g, &cast_kind, NULL, &src, *dst ? dst : NULL, e);

    if (!op)
        return -1;
    c->places[c->n++] = place;
    *dst = op->out[0];
    return 0;
}

/* Casts each tensor once, even if it is several inputs of the op. */
static int widen_inputs(struct graph *g, struct casts *c, size_t i, struct err *e)
{
    struct op *op = g->ops[i];

    for (int k = -1; op_next_in(op, &k);) {
        struct tensor *half = op->in[k], *wide = NULL;

        if (half->dtype == DTYPE_F32)
            continue;
        if (append_cast(g, c, 2 * i, half, &wide, e) < 0)
            return -1;
        for (int j = k; j < OP_MAX_IN; j++)
            if (op->in[j] == half)
                op->in[j] = wide;
    }
    return 0;
}

static int widen_outputs(struct graph *g, struct casts *c, size_t i, struct err *e)
{
    struct op *op = g->ops[i];

    for (int k = -1; op_next_out(op, &k);) {
        struct tensor *half = op->out[k];

        if (half->dtype == DTYPE_F32)
            continue;
        struct tensor *wide = graph_tensor(g, half->name, half->shape, e);
        if (!wide || append_cast(g, c, 2 * i + 1, wide, &half, e) < 0)
            return -1;
        op->out[k] = wide;
    }
    return 0;
}

static int sort_ops(struct graph *g, const struct casts *c, struct err *e)
{
    size_t n = 0, next = 0, nown = g->nops - c->n, nforward = g->nforward;
    struct op **ops = mem_alloc(g->nops, sizeof(struct op *), e);

    if (!ops)
        return -1;
    for (size_t i = 0; i < nown; i++) {
        for (; next < c->n && c->places[next] == 2 * i; next++)
            ops[n++] = g->ops[nown + next];
        ops[n++] = g->ops[i];
        for (; next < c->n && c->places[next] == 2 * i + 1; next++)
            ops[n++] = g->ops[nown + next];
        if (i + 1 == nforward)
            g->nforward = n;
    }
    free(g->ops);
    g->ops = ops;
    return 0;
}

int precision_lower(struct graph *g, const struct backend *backend, struct err *e)
{
    size_t nown = g->nops;
    struct casts c = {.places = mem_zero(nown * (OP_MAX_IN + OP_MAX_OUT), sizeof *c.places, e)};
    int rc = c.places ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < nown; i++)
        if (!op_is_float(g->ops[i]) && !backend_kernel(backend, g->ops[i]))
            rc = widen_inputs(g, &c, i, e) || widen_outputs(g, &c, i, e) ? -1 : 0;
    if (rc == 0)
        rc = sort_ops(g, &c, e);
    free(c.places);
    return rc;
}
