/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes over a graph: types of 16 bits, and fusion. */
#include "src/base.h"
#include "trainer/passes/passes.h"

/* Casts are appended at the end of the graph, and then moved before or after the ops that need
 * them; the order of the other ops does not change. */

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

/* Returns whether the tensor is to be cast for an op: with widens one of 16 bits, otherwise one of
 * floats that may have 16 bits, which is an image, logits or their gradient. */
static bool needs_cast(const struct tensor *t, bool widens)
{
    return widens ? t->dtype != DTYPE_F32
                  : t->dtype == DTYPE_F32 && t->place == TENSOR_ARENA && !t->is_weight &&
                        t->shape.ndim == 4;
}

/* Returns whether the backend has a kernel for the op with all activations of 16 bits. */
static bool can_narrow(const struct op *op, const struct backend *backend)
{
    struct tensor planned[OP_MAX_IN + OP_MAX_OUT];
    const struct tensor *t;
    struct op narrow = *op;
    int n = 0;

    for (int k = -1; (t = op_next(op, &k));)
        if (needs_cast(t, false)) {
            planned[n] = *t;
            planned[n].dtype = op_half(op);
            *op_slot(&narrow, k) = &planned[n++];
        }
    return n > 0 && backend_kernel(backend, &narrow) != NULL;
}

/* Returns what an op from number `first` on has made of t, or NULL. */
static struct tensor *find_cast(const struct graph *g, size_t first, const struct tensor *t)
{
    for (size_t i = first; i < g->nops; i++)
        if (g->ops[i]->in[0] == t)
            return g->ops[i]->out[0];
    return NULL;
}

/* Returns a new tensor of that type beside t, which the op at `place` reads or writes instead. */
static struct tensor *append_cast(struct graph *g, struct casts *c, size_t place, struct tensor *t,
                                  enum dtype type, struct err *e)
{
    struct tensor *other = graph_tensor(g, t->name, t->shape, e);
    bool is_result = place % 2;

    if (!other)
        return NULL;
    other->dtype = type;
    if (!graph_append(g, &cast_kind, NULL, is_result ? &other : &t, is_result ? &t : &other, e))
        return NULL;
    c->places[c->n++] = place;
    return other;
}

/* Casts the tensors of op i: each once that several of its inputs are or, without widens, several
 * ops read. nown: ops without casts. */
static int cast_op(struct graph *g, struct casts *c, size_t nown, size_t i, bool widens,
                   struct err *e)
{
    enum dtype type = widens ? DTYPE_F32 : op_half(g->ops[i]);
    size_t first = widens ? g->nops : nown;
    struct op *op = g->ops[i];
    struct tensor *t;

    for (int k = -1; (t = op_next(op, &k));) {
        bool is_result = k >= OP_MAX_IN;

        if (!needs_cast(t, widens))
            continue;
        struct tensor *other = is_result ? NULL : find_cast(g, first, t);
        if (!other && !(other = append_cast(g, c, 2 * i + is_result, t, type, e)))
            return -1;
        *op_slot(op, k) = other;
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

/* Inserts casts around each op with tensors of 16 bits for which the backend has no kernel: with
 * widens all its tensors become floats, otherwise its activations 16 bits, if it has one for
 * that. */
static int insert_casts(struct graph *g, const struct backend *backend, bool widens, struct err *e)
{
    size_t nown = g->nops;
    struct casts c = {.places = mem_zero(nown * (OP_MAX_IN + OP_MAX_OUT), sizeof *c.places, e)};
    int rc = c.places ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < nown; i++) {
        if (op_half(g->ops[i]) == DTYPE_F32 || backend_kernel(backend, g->ops[i]))
            continue;
        if (widens || can_narrow(g->ops[i], backend))
            rc = cast_op(g, &c, nown, i, widens, e);
    }
    if (rc == 0)
        rc = sort_ops(g, &c, e);
    free(c.places);
    return rc;
}

int precision_narrow(struct graph *g, const struct backend *backend, struct err *e)
{
    return insert_casts(g, backend, false, e);
}

int precision_lower(struct graph *g, const struct backend *backend, struct err *e)
{
    return insert_casts(g, backend, true, e);
}

/* Each pattern in turn goes through the whole graph. What replaces two ops is stored in place of
 * the second; the first is freed, or becomes fold_norm. */

/* x -> y, relu (y) -> z becomes x -> z, but for a leaky ReLU. */
static bool join_relu(const struct graph *g, const struct op *first, const struct op *relu,
                      struct op *fused)
{
    *fused = *first;
    fused->out[0] = relu->out[0];
    return relu->attr.slope <= 0 && relu->in[0] == first->out[0] &&
           graph_is_private(g, first, relu);
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
    *fused = (struct op){.attr = pool->attr, .in = {add->in[0], pool->in[0], pool->in[1]},
                         .out = {add->out[0]}};
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
