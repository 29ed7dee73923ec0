/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ops are fused, and that a fused graph computes the same as the unfused one up to rounding:
 * on every backend of the host, or (check_residual, check_block, check_readers) on the
 * reference. */
#include "config.h"
#include "trainer/backends/backends.h"
#include "trainer/passes/fuse.h"

#include <math.h>
#include <string.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/core/arena.h"
#include "trainer/ops/ops.h"

struct compiled {
    struct graph *graph;
    struct weights *weights;
    struct arena arena;
};

/* A small encoder and decoder: two blocks with a pooling between them; the result of the first is
 * also concatenated with that of the second. */
static void build_encoder(struct graph *g, struct err *e)
{
    struct tensor *x, *skip;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 8, 16, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 8, 16, 1), e);
    x = conv2d_append(g, "one", x, 8, 3, 1, true, e);
    skip = x = relu_append(g, batch_norm_append(g, "one.bn", x, false, e), e);
    x = conv2d_append(g, "two", max_pool2d_append(g, x, e), 16, 3, 1, true, e);
    x = relu_append(g, batch_norm_append(g, "two.bn", x, false, e), e);
    x = concat_append(g, conv_transpose2d_append(g, "up", x, 8, e), skip, e);
    x = conv2d_append(g, "three", x, 8, 3, 1, true, e);
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, true, e);
    if (!g->logits ||
        (g->training && (loss_append(g, LOSS_CE, NULL, NULL, g->logits, g->target, e) ||
                                       graph_backward(g, e))))
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

/* A block of two convolutions, with or without bias. */
static bool block_bias;

static void build_block(struct graph *g, struct err *e)
{
    struct tensor *x;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 8, 16, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 8, 16, 1), e);
    x = conv2d_append(g, "one", x, 8, 3, 1, block_bias, e);
    x = relu_append(g, batch_norm_append(g, "one.bn", x, false, e), e);
    x = conv2d_append(g, "two", x, 16, 3, 1, block_bias, e);
    x = relu_append(g, batch_norm_append(g, "two.bn", x, false, e), e);
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, true, e);
    if (!g->logits ||
        (g->training && (loss_append(g, LOSS_CE, NULL, NULL, g->logits, g->target, e) ||
                                       graph_backward(g, e))))
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

/* Convolutions without norms; the pooling between them has an odd size. */
static void build_pools(struct graph *g, struct err *e)
{
    struct tensor *x;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 9, 14, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 4, 7, 1), e);
    x = relu_append(g, conv2d_append(g, "one", x, 8, 3, 1, true, e), e);
    x = relu_append(g, conv2d_append(g, "two", max_pool2d_append(g, x, e), 16, 3, 1, true, e), e);
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, true, e);
    if (!g->logits || loss_append(g, LOSS_CE, NULL, NULL, g->logits, g->target, e) ||
        graph_backward(g, e))
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

/* A convolution without bias whose input has other readers, after a norm whose result has none. */
static void build_residual(struct graph *g, struct err *e)
{
    struct tensor *x, *y;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 8, 16, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 8, 16, 1), e);
    x = relu_append(g, conv2d_append(g, "one", x, 8, 3, 1, true, e), e);
    y = relu_append(g, batch_norm_append(g, "two.bn", conv2d_append(g, "two", x, 8, 3, 1, false, e),
                                         false, e), e);
    y = conv2d_append(g, "three", y, 8, 3, 1, false, e);
    g->logits = conv2d_append(g, "head", add_append(g, x, y, e), 1, 1, 1, true, e);
    if (!g->logits || loss_append(g, LOSS_CE, NULL, NULL, g->logits, g->target, e) ||
        graph_backward(g, e))
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

/* Three residual blocks of one convolution each. */
static void build_ends(struct graph *g, struct err *e)
{
    struct tensor *x, *y;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 8, 16, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 8, 16, 1), e);
    x = relu_append(g, conv2d_append(g, "stem", x, 8, 3, 1, true, e), e);
    for (int i = 1; i <= 3; i++) {
        char conv[16], norm[16];

        snprintf(conv, sizeof conv, "c%d", i);
        snprintf(norm, sizeof norm, "n%d", i);
        y = batch_norm_append(g, norm, conv2d_append(g, conv, x, 8, 3, 1, false, e), false, e);
        x = relu_append(g, i == 2 ? add_append(g, x, y, e) : add_append(g, y, x, e), e);
    }
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, true, e);
    if (!g->logits || loss_append(g, LOSS_CE, NULL, NULL, g->logits, g->target, e) ||
        graph_backward(g, e))
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

static void fill_compiled(const struct compiled *c)
{
    const struct weights *w = c->weights;

    for (size_t i = 0; i < w->nparams; i++)
        w->value[i] = (float)rng_normal(1, 0, i);
    for (size_t i = 0; i < w->nstate; i++)
        w->state[i] = (float)(0.5 + rng_uniform(1, 1, i));
    memset(w->grad, 0, w->nparams * sizeof(float));
    for (size_t i = 0; i < tensor_count(c->graph->input); i++)
        c->graph->input->data[i] = (float)rng_normal(1, 2, i);
    for (size_t i = 0; i < tensor_count(c->graph->target); i++)
        c->graph->target->data[i] = (float)rng_uniform(1, 3, i);
}

static void create_compiled(struct compiled *c, void (*build_into)(struct graph *g, struct err *e),
                            const struct backend *backend, bool training, bool fused)
{
    struct err e = {0};
    bool moved;

    *c = (struct compiled){.graph = graph_create(training, &e), .weights = weights_create(&e)};
    build_into(c->graph, &e);
    for (size_t i = 0; i < c->graph->nparams; i++) {
        const struct tensor *t = c->graph->params[i].tensor;

        weights_add(c->weights, t->name, c->graph->params[i].role, t->shape.ndim, t->shape.dim,
                    &e);
    }
    if (fused && fuse_graph(c->graph, backend, &e) < 0)
        bail_out("%s", e.text);
    if (weights_alloc(c->weights, &e) || graph_compile(c->graph, backend, c->weights, &e) ||
        arena_reserve(&c->arena, c->graph->arena_size, &moved, &e))
        bail_out("%s", e.text);
    graph_bind(c->graph, c->weights, c->arena.base);
    fill_compiled(c);
}

static void destroy_compiled(struct compiled *c)
{
    graph_destroy(c->graph);
    weights_destroy(c->weights);
    arena_release(&c->arena);
}

/* One graph, fused and as it was built. */
struct fused_pair {
    struct compiled fused, plain;
};

static void create_pair(struct fused_pair *b, void (*build_into)(struct graph *g, struct err *e),
                        const struct backend *backend, bool training)
{
    create_compiled(&b->fused, build_into, backend, training, true);
    create_compiled(&b->plain, build_into, backend, training, false);
}

static void destroy_pair(struct fused_pair *b)
{
    destroy_compiled(&b->fused);
    destroy_compiled(&b->plain);
}

static double run_compiled(struct compiled *c)
{
    struct exec x = {.grad_scale = 0.01, .image_scale = 1, .loss_per_weight = 1,
                     .loss_per_image = 1};
    struct err e;

    if (graph_run(c->graph, &x, NULL, NULL, &e))
        bail_out("%s", e.text);
    return x.loss_sum;
}

static double largest_difference(const float *a, const float *b, size_t n)
{
    double largest = 0, scale = 1e-30;

    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
        scale = fmax(scale, fabs((double)b[i]));
    }
    return largest / scale;
}

static size_t count_kind(const struct graph *g, const struct op_kind *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        n += g->ops[i]->kind == kind;
    return n;
}

/* Returns whether the backend has kernels for fused convolutions: the reference has; others do if
 * the processor has wide vectors. */
static bool has_wide_kernels(const struct backend *backend)
{
    struct err e = {0};
    struct graph *g = graph_create(false, &e);
    struct tensor *x = graph_input(g, "input", shape_nhwc(2, 8, 16, 8), &e);
    bool has;

    conv2d_append(g, "conv", x, 8, 3, 1, true, &e);
    has = backend_has_kernel(backend, g->ops[0]);
    graph_destroy(g);
    return has;
}

/* Counts the ops of this kind whose form has, of these flags, exactly those of `form`. */
#define FORMS \
    (OP_RELU | OP_AS_SCALE_SHIFT | OP_HAS_PRODUCER | OP_GIVES_POOLED | OP_HAS_ADDED | \
     OP_HAS_SECOND | OP_INPUT_ONLY | OP_WEIGHTS_ONLY)
static size_t count_as(const struct graph *g, const struct op_kind *kind, unsigned form)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        n += g->ops[i]->kind == kind && (op_form(g->ops[i]) & FORMS) == form;
    return n;
}

static double gradient_error(const struct fused_pair *b)
{
    const struct weights *w = b->fused.weights;

    return largest_difference(w->grad, b->plain.weights->grad, w->nparams);
}

static double state_error(const struct fused_pair *b)
{
    const struct weights *w = b->fused.weights;

    return largest_difference(w->state, b->plain.weights->state, w->nstate);
}

/* Counts the ops of a kind without bias. */
static size_t count_bare(const struct graph *g, const struct op_kind *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        n += g->ops[i]->kind == kind && g->ops[i]->attr.no_bias;
    return n;
}

/* Counts the norms whose moments the writer of their input computes. */
static size_t count_moments(const struct graph *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nforward; i++)
        for (size_t j = 0; g->ops[i]->out[OP_OUT_MOMENTS] && j < g->nforward; j++)
            n += g->ops[j]->in[OP_MOMENTS] == g->ops[i]->out[OP_OUT_MOMENTS] &&
                 g->ops[j]->in[0] == g->ops[i]->out[0];
    return n;
}

/* Counts the ops that compute a deferred norm gradient. */
static size_t count_deferred(const struct graph *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        n += g->ops[i]->in[OP_NORM_GRAD_X] && g->ops[i]->in[OP_NORM_GRAD_COEF];
    return n;
}

/* Counts the ops that compute a norm and its ReLU from coefficients. */
static size_t count_scale_shift(const struct graph *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        n += g->ops[i]->in[OP_SCALE_SHIFT] || g->ops[i]->in[OP_SECOND_SCALE_SHIFT];
    return n;
}

/* Counts the norms' gradients whose sums the writer of their input computes. */
static size_t count_sums(const struct graph *g)
{
    size_t n = 0;

    for (size_t i = g->nforward; i < g->nops; i++)
        for (size_t j = g->nforward; g->ops[i]->out[OP_OUT_SUMS] && j < g->nops; j++)
            n += g->ops[j]->in[OP_SUMS] == g->ops[i]->out[OP_OUT_SUMS];
    return n;
}

static void check_training(const struct backend *backend)
{
    struct fused_pair b;

    create_pair(&b, build_encoder, backend, true);
    size_t concat = count_as(b.fused.graph, &conv2d_kind, OP_HAS_SECOND);
    ok(concat == has_wide_kernels(backend) && count_kind(b.fused.graph, &concat_kind) == 1 - concat,
       "%s: concat is fused where there is a kernel", backend->name);
    /* The gradients of a convolution's input and weights become one op: in the reference for four
     * convolutions, in another backend for one if it has kernels for fused convolutions. */
    bool ref = backend == backend_find("ref");
    size_t wide = has_wide_kernels(backend) ? 1 : 0;
    size_t grads = ref ? 4 : wide, deferred = ref ? 2 : wide;
    ok(count_as(b.fused.graph, &conv2d_grad_kind, 0) +
               count_as(b.fused.graph, &conv2d_grad_kind, OP_HAS_SECOND) +
               count_as(b.fused.graph, &conv_transpose2d_grad_kind, 0) == grads,
       "%s: gradients of convolutions are one where there is a kernel", backend->name);
    ok(b.fused.graph->nops == b.plain.graph->nops - 5 - 2 * concat - grads,
       "%s: the other five pairs became one op each", backend->name);
    ok(count_as(b.fused.graph, &batch_norm_kind, OP_RELU) == 2 - 2 * wide &&
           count_as(b.fused.graph, &batch_norm_kind, OP_RELU | OP_AS_SCALE_SHIFT) == 2 * wide &&
           count_as(b.fused.graph, &batch_norm_grad_kind, OP_RELU) == 2 - deferred &&
           count_as(b.fused.graph, &batch_norm_grad_kind, OP_RELU | OP_AS_SCALE_SHIFT) ==
               deferred &&
           count_deferred(b.fused.graph) == deferred &&
           count_as(b.fused.graph, &max_pool2d_grad_kind, OP_HAS_ADDED) == 1,
       "%s: of the right kinds", backend->name);
    ok(b.fused.graph->nforward == b.plain.graph->nforward - 2 - concat, "%s: two of them forward",
       backend->name);
    ok(count_moments(b.fused.graph) == 2 * wide,
       "%s: convolutions give norms moments where there are kernels", backend->name);
    ok(count_scale_shift(b.fused.graph) == 6 * wide && count_sums(b.fused.graph) == 2 * wide,
       "%s: pooling, transposed convolution, concat and their gradients make norms, and their sums",
       backend->name);
    double loss = run_compiled(&b.fused), want = run_compiled(&b.plain);
    ok(fabs(loss / want - 1) < 1e-6, "%s: the same loss: %g", backend->name, loss / want - 1);
    double error = gradient_error(&b);
    ok(error < 1e-5, "%s: the same gradients: %.1e", backend->name, error);
    error = state_error(&b);
    ok(error < 1e-6, "%s: the same running statistics: %.1e", backend->name, error);
    destroy_pair(&b);
}

static void check_pools(const struct backend *backend)
{
    struct fused_pair b;

    create_pair(&b, build_pools, backend, true);
    size_t behind = count_as(b.fused.graph, &conv2d_kind, OP_RELU);
    ok(count_kind(b.fused.graph, &relu_max_pool2d_kind) == 1 &&
           count_kind(b.fused.graph, &relu_max_pool2d_grad_kind) == 1 &&
           count_kind(b.fused.graph, &relu_kind) == 1 - behind &&
           behind == has_wide_kernels(backend) &&
           b.fused.graph->nops == b.plain.graph->nops - 2 - behind -
                                   count_as(b.fused.graph, &conv2d_grad_kind, 0) &&
           b.fused.graph->nforward == b.plain.graph->nforward - 1 - behind,
       "%s: a ReLU is fused with the pooling behind it, another with the convolution before it",
       backend->name);
    double loss = run_compiled(&b.fused), want = run_compiled(&b.plain);
    double error = gradient_error(&b);
    ok(loss == want && error == 0, "%s: with the same loss, %g, and gradients, %.1e", backend->name,
       loss / want - 1, error);
    destroy_pair(&b);
}

/* The reference has kernels for every op that fusion makes. There the head of the block, a 1x1
 * convolution, also applies the norm in front of it while it reads. */
static void check_block(bool bias)
{
    const struct backend *ref = backend_find("ref");
    struct fused_pair b;

    size_t nobias = bias ? 0 : 1;

    block_bias = bias;
    create_pair(&b, build_block, ref, true);
    ok(count_moments(b.fused.graph) == 2 && count_moments(b.plain.graph) == 0,
       "the convolutions in front of the norms give them their moments");
    ok(count_deferred(b.fused.graph) == 2 && count_deferred(b.plain.graph) == 0,
       "the norms' gradients are made by the convolutions' that read them");
    ok(count_scale_shift(b.fused.graph) == 4 && count_sums(b.fused.graph) == 2 &&
           count_bare(b.fused.graph, &conv2d_kind) == 2 * nobias &&
           count_bare(b.fused.graph, &conv2d_grad_kind) == 2 * nobias &&
           count_as(b.fused.graph, &conv2d_grad_kind, 0) == 2 &&
           count_as(b.fused.graph, &batch_norm_kind, OP_RELU | OP_AS_SCALE_SHIFT) == 2 &&
           count_as(b.fused.graph, &batch_norm_grad_kind, OP_RELU | OP_AS_SCALE_SHIFT) == 2 &&
           count_kind(b.fused.graph, &relu_kind) == 0 &&
           count_as(b.fused.graph, &conv2d_grad_kind, OP_INPUT_ONLY) == 0,
       "a norm is computed by the convolution behind it");
    ok(b.fused.graph->nops == b.plain.graph->nops - 6 &&
           b.fused.graph->nforward == b.plain.graph->nforward - 2,
       "two pairs of ops forward and four backward became one each");
    double loss = run_compiled(&b.fused), want = run_compiled(&b.plain);
    double error = gradient_error(&b);
    ok(fabs(loss / want - 1) < 1e-6 && error < 1e-5,
       "with the same loss, %g, and gradients, %.1e", loss / want - 1, error);
    error = state_error(&b);
    ok(error < 1e-6, "and running statistics: %.1e", error);
    destroy_pair(&b);
}

static void check_residual(void)
{
    const struct backend *ref = backend_find("ref");
    struct fused_pair b;

    create_pair(&b, build_residual, ref, true);
    ok(count_bare(b.fused.graph, &conv2d_grad_kind) == 2 && count_deferred(b.fused.graph) == 1 &&
           count_as(b.fused.graph, &conv2d_grad_kind, OP_INPUT_ONLY) == 0,
       "both gradients of a convolution without bias are one op, which makes that of the norm behind it");
    double loss = run_compiled(&b.fused), want = run_compiled(&b.plain);
    double error = gradient_error(&b);
    ok(fabs(loss / want - 1) < 1e-6 && error < 1e-5, "with the same loss, %g, and gradients, %.1e",
       loss / want - 1, error);
    destroy_pair(&b);
}

static void check_ends(const struct backend *backend)
{
    struct fused_pair b;

    create_pair(&b, build_ends, backend, true);
    size_t wide = has_wide_kernels(backend);
    ok(count_as(b.fused.graph, &add_kind, 0) == count_kind(b.plain.graph, &add_kind) - 3 * wide &&
           count_as(b.fused.graph, &batch_norm_kind, OP_RELU | OP_AS_SCALE_SHIFT) == 3 * wide &&
           count_as(b.fused.graph, &add_kind, OP_RELU) == 5 * wide,
       "%s: three norms with an addition and a ReLU behind them became two ops each, the first and the third made "
       "again for gradients", backend->name);
    size_t relus = count_as(b.fused.graph, &conv2d_kind, OP_RELU);
    ok(b.fused.graph->nforward == b.plain.graph->nforward - 3 * wide - relus,
       "%s: not forward", backend->name);
    double loss = run_compiled(&b.fused), want = run_compiled(&b.plain);
    double error = gradient_error(&b);
    ok(fabs(loss / want - 1) < 1e-6 && error < 1e-5, "%s: with the same loss, %g, and gradients, %.1e",
       backend->name, loss / want - 1, error);
    error = state_error(&b);
    ok(error < 1e-6, "%s: and running statistics: %.1e", backend->name, error);
    destroy_pair(&b);
}

static void check_logits(struct fused_pair *b, const struct backend *backend)
{
    const struct tensor *logits = b->fused.graph->logits, *want = b->plain.graph->logits;

    run_compiled(&b->fused);
    run_compiled(&b->plain);
    double error = largest_difference(logits->data, want->data, tensor_count(want));
    ok(error < 1e-5, "%s: with the same logits: %.1e", backend->name, error);
}

static void check_inference(const struct backend *backend)
{
    struct fused_pair b;

    create_pair(&b, build_encoder, backend, false);
    size_t wide = has_wide_kernels(backend);
    ok(count_kind(b.fused.graph, &fold_norm_kind) == 2 &&
           count_as(b.fused.graph, &conv2d_kind, OP_RELU) +
                   count_as(b.fused.graph, &conv2d_kind, OP_RELU | OP_GIVES_POOLED) == 2 * wide &&
           count_kind(b.fused.graph, &relu_kind) == 2 - 2 * wide &&
           count_kind(b.fused.graph, &batch_norm_infer_kind) == 0 &&
           count_as(b.fused.graph, &batch_norm_infer_kind, OP_RELU) == 0 &&
           count_as(b.fused.graph, &conv2d_kind, OP_HAS_SECOND) == wide,
       "%s: inference is fused too, norms with the weights in front of them", backend->name);
    check_logits(&b, backend);
    destroy_pair(&b);
}

/* The same for convolutions without biases, to which the folded norms give biases. */
static void check_nobias_inference(const struct backend *backend)
{
    struct fused_pair b;

    block_bias = false;
    create_pair(&b, build_block, backend, false);
    ok(count_bare(b.fused.graph, &fold_norm_kind) == 2 && count_bare(b.fused.graph,
                                                                     &conv2d_kind) == 0 &&
           count_as(b.fused.graph, &conv2d_kind, OP_RELU) == 2 * has_wide_kernels(backend),
       "%s: convolutions without bias take one from the norms behind them", backend->name);
    check_logits(&b, backend);
    destroy_pair(&b);
}

/* All fusions of a convolution with a ReLU, in sizes that wide kernels support. */
static void build_chains(struct graph *g, struct err *e)
{
    struct tensor *x, *skip;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 16, 24, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 16, 24, 1), e);
    x = relu_append(g, conv2d_append(g, "stem", x, 8, 3, 1, true, e), e);
    skip = x = relu_append(g, conv2d_append(g, "one", x, 16, 3, 1, true, e), e);
    x = relu_append(g, conv2d_append(g, "two", max_pool2d_append(g, x, e), 16, 3, 1, true, e), e);
    x = concat_append(g, conv_transpose2d_append(g, "up", x, 8, e), skip, e);
    x = relu_append(g, conv2d_append(g, "three", x, 8, 3, 1, true, e), e);
    x = relu_append(g, conv2d_append(g, "four", x, 8, 3, 1, true, e), e);
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, true, e);
    if (!g->logits)
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

static void check_chains(const struct backend *backend)
{
    struct fused_pair b;

    create_pair(&b, build_chains, backend, false);
    size_t wide = has_wide_kernels(backend);
    ok(count_as(b.fused.graph, &conv2d_kind, OP_RELU | OP_HAS_PRODUCER | OP_GIVES_POOLED) == wide &&
           count_as(b.fused.graph, &conv2d_kind,
                    OP_RELU | OP_HAS_SECOND | OP_HAS_PRODUCER) == wide &&
           count_as(b.fused.graph, &conv2d_kind, OP_RELU) == 2 * wide &&
               (!wide || b.fused.graph->nops == 5),
       "%s: at inference what is in front of convolutions and behind them is computed with them", backend->name);
    check_logits(&b, backend);
    destroy_pair(&b);
}

/* A result that another op or the caller reads is not fused away. */
static void check_readers(void)
{
    struct err e = {0};
    struct graph *g = graph_create(false, &e);
    struct tensor *x = graph_input(g, "input", shape_nhwc(1, 4, 4, 3), &e);
    struct tensor *y = batch_norm_append(g, "bn", x, false, &e);

    graph_append(g, &add_kind, NULL, (struct tensor *[]){relu_append(g, y, &e), y}, NULL, &e);
    fuse_graph(g, backend_find("ref"), &e);
    ok(g->nops == 3, "a result with two readers stays");
    graph_destroy(g);
    g = graph_create(false, &e);
    x = graph_input(g, "input", shape_nhwc(1, 4, 4, 3), &e);
    y = batch_norm_append(g, "bn", x, false, &e);
    y->pinned = true;
    relu_append(g, y, &e);
    fuse_graph(g, backend_find("ref"), &e);
    ok(g->nops == 2, "a pinned result stays");
    graph_destroy(g);
}

int main(void)
{
    for (size_t i = 0; backends[i] && !backends[i]->device; i++) {
        check_training(backends[i]);
        check_inference(backends[i]);
        check_nobias_inference(backends[i]);
        check_chains(backends[i]);
        check_pools(backends[i]);
        check_ends(backends[i]);
    }
    check_residual();
    check_block(true);
    check_block(false);
    check_readers();
    return done_testing();
}
