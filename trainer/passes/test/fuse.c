/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ops are fused, and that a fused graph computes the same as the unfused one up to rounding,
 * on every backend of the host. */
#include "src/base.h"
#include "trainer/backends/backends.h"
#include "trainer/passes/passes.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/core/graph.h"
#include "trainer/ops/ops.h"

struct compiled {
    struct graph *graph;
    struct weights *weights;
    struct arena arena;
};

static const struct loss_terms cross_entropy = {.loss = LOSS_CE};

static int pool_side; /* of the windows of the encoder's pooling */

/* A small encoder and decoder: two blocks with a pooling between them; the result of the first is
 * also concatenated with that of the second. */
static void build_encoder(struct graph *g, struct err *e)
{
    struct tensor *x, *skip;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 32, 64, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 32, 64, 1), e);
    x = conv2d_append(g, "one", x, 8, 3, 1, 1, true, e);
    skip = x = relu_append(g, batch_norm_append(g, "one.bn", x, false, e), e);
    x = conv2d_append(g, "two", max_pool2d_append(g, x, pool_side, e), 16, 3, 1, 1, true, e);
    x = relu_append(g, batch_norm_append(g, "two.bn", x, false, e), e);
    x = concat_append(g, conv_transpose2d_append(g, "up", x, 8, 2, e), skip, e);
    x = conv2d_append(g, "three", x, 8, 3, 1, 1, true, e);
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, 1, true, e);
    if (!g->logits ||
        (g->training && (loss_append(g, &cross_entropy, g->logits, g->target, e) ||
                                       graph_backward(g, e))))
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

/* Convolutions without norms, the second without bias; the pooling between them has an odd size. */
static void build_pools(struct graph *g, struct err *e)
{
    struct tensor *x;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 9, 14, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 4, 7, 1), e);
    x = relu_append(g, conv2d_append(g, "one", x, 8, 3, 1, 1, true, e), e);
    x = conv2d_append(g, "two", max_pool2d_append(g, x, 2, e), 16, 3, 1, 1, false, e);
    x = relu_append(g, x, e);
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, 1, true, e);
    if (!g->logits || loss_append(g, &cross_entropy, g->logits, g->target, e) ||
        graph_backward(g, e))
        bail_out("%s", e->text);
    g->logits->pinned = true;
}

/* Two convolutions with norms, the second without bias, behind a residual sum and its ReLU, which
 * has two readers. */
static void build_residual(struct graph *g, struct err *e)
{
    struct tensor *x, *y;

    g->input = x = graph_input(g, "input", shape_nhwc(2, 16, 24, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 16, 24, 1), e);
    x = batch_norm_append(g, "one.bn", conv2d_append(g, "one", x, 8, 3, 1, 1, true, e), false, e);
    x = relu_append(g, x, e);
    y = batch_norm_append(g, "two.bn", conv2d_append(g, "two", x, 8, 3, 1, 1, false, e), false, e);
    x = relu_append(g, add_append(g, x, y, e), e);
    y = relu_append(g, conv2d_append(g, "three", x, 8, 3, 1, 1, true, e), e);
    g->logits = conv2d_append(g, "head", add_append(g, x, y, e), 1, 1, 1, 1, true, e);
    if (!g->logits ||
        (g->training && (loss_append(g, &cross_entropy, g->logits, g->target, e) ||
                         graph_backward(g, e))))
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

    conv2d_append(g, "conv", x, 8, 3, 1, 1, true, &e);
    has = backend_has_kernel(backend, g->ops[0]);
    graph_destroy(g);
    return has;
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

static void check_results(struct fused_pair *b, const struct backend *backend)
{
    double loss = run_compiled(&b->fused), want = run_compiled(&b->plain);
    double error = gradient_error(b);

    ok(fabs(loss / want - 1) < 1e-6 && error < 1e-5, "%s: with the same loss, %g, and gradients, %.1e",
       backend->name, loss / want - 1, error);
    error = state_error(b);
    ok(error < 1e-6, "%s: and running statistics: %.1e", backend->name, error);
}

/* Returns whether the graph has neither a norm nor a ReLU, nor their gradients, on its own. */
static bool joined_norms(const struct graph *g, size_t nnorms)
{
    return count_kind(g, &batch_norm_relu_kind) == nnorms &&
           count_kind(g, &batch_norm_relu_grad_kind) == nnorms &&
           count_kind(g, &batch_norm_kind) == 0 && count_kind(g, &batch_norm_grad_kind) == 0;
}

static void check_training(const struct backend *backend)
{
    struct fused_pair b;
    bool ref = backend == backend_find("ref");

    create_pair(&b, build_encoder, backend, true);
    const struct graph *g = b.fused.graph;
    /* The reference joins the gradients of each convolution with both; another backend those of the
     * convolution that is large enough. */
    size_t grads = ref ? 3 : has_wide_kernels(backend);
    ok(joined_norms(g, 2) && count_kind(g, &relu_kind) == 0 && count_kind(g, &relu_grad_kind) == 0,
       "%s: norms and their ReLUs are one op, and so are their gradients", backend->name);
    ok(count_kind(g, &conv2d_grad_kind) == grads &&
           count_kind(g, &conv2d_grad_input_kind) == 3 - grads &&
           count_kind(g, &conv2d_grad_weights_kind) == 4 - grads,
       "%s: gradients of convolutions are one op where there is a kernel", backend->name);
    ok(count_kind(g, &max_pool2d_grad_add_kind) == 1 && count_kind(g, &add_kind) == 0,
       "%s: the gradient of pooling has the sum behind it", backend->name);
    ok(g->nops == b.plain.graph->nops - 5 - grads &&
           g->nforward == b.plain.graph->nforward - 2, "%s: all other ops stay", backend->name);
    check_results(&b, backend);
    destroy_pair(&b);
}

static void check_pools(const struct backend *backend)
{
    struct fused_pair b;

    create_pair(&b, build_pools, backend, true);
    size_t n = backend == backend_find("ref") ? 2 : has_wide_kernels(backend);
    ok(count_kind(b.fused.graph, &conv2d_relu_kind) >= n &&
           count_kind(b.fused.graph, &conv2d_relu_kind) ==
               2 - count_kind(b.fused.graph, &relu_kind),
       "%s: a convolution and its ReLU are one op in training, too", backend->name);
    check_results(&b, backend);
    destroy_pair(&b);
}

static void check_residual(const struct backend *backend)
{
    struct fused_pair b;

    create_pair(&b, build_residual, backend, true);
    ok(count_kind(b.fused.graph, &batch_norm_relu_kind) == 1 &&
           count_kind(b.fused.graph, &batch_norm_kind) == 1 &&
           count_kind(b.fused.graph, &batch_norm_grad_kind) == 1,
       "%s: a norm with a sum behind it stays", backend->name);
    check_results(&b, backend);
    destroy_pair(&b);
}

static void check_inference(const struct backend *backend,
                            void (*build_into)(struct graph *g, struct err *e), size_t nrelus)
{
    struct fused_pair b;

    create_pair(&b, build_into, backend, false);
    const struct graph *g = b.fused.graph;
    size_t joined = has_wide_kernels(backend) ? nrelus : 0;
    ok(count_kind(g, &fold_norm_kind) == 2 && count_kind(g, &batch_norm_infer_kind) == 0 &&
           count_kind(g, &conv2d_relu_kind) == joined &&
           count_kind(g, &relu_kind) == count_kind(b.plain.graph, &relu_kind) - joined &&
           g->nops == b.plain.graph->nops - joined,
       "%s: at inference norms are folded into convolutions, which have ReLUs", backend->name);
    const struct tensor *logits = g->logits, *want = b.plain.graph->logits;
    run_compiled(&b.fused);
    run_compiled(&b.plain);
    double error = largest_difference(logits->data, want->data, tensor_count(want));
    ok(error < 1e-5, "%s: with the same logits: %.1e", backend->name, error);
    destroy_pair(&b);
}

/* Only the gradient of a bias that a norm follows is left out. */
static void check_bias_grads(void)
{
    struct err e = {0};
    struct graph *g = graph_create(true, &e);
    size_t nwithout = 0, nothers = 0;

    build_residual(g, &e);
    fuse_drop_bias_grads(g);
    for (size_t i = g->nforward; i < g->nops; i++)
        if (g->ops[i]->kind == &conv2d_grad_weights_kind && g->ops[i]->out[1])
            nothers++;
        else if (g->ops[i]->kind == &conv2d_grad_weights_kind)
            nwithout++;
    ok(nwithout == 2 && nothers == 2, "gradients of biases in front of norms are left out");
    graph_destroy(g);
}

/* A result that another op or the caller reads is not fused away. */
static void check_readers(void)
{
    struct err e = {0};

    for (int pinned = 0; pinned < 2; pinned++) {
        struct graph *g = graph_create(false, &e);
        struct tensor *x = graph_input(g, "input", shape_nhwc(1, 4, 4, 3), &e);
        struct tensor *y = conv2d_append(g, "conv", x, 3, 3, 1, 1, true, &e);
        struct tensor *z = relu_append(g, y, &e);

        y->pinned = pinned;
        if (!pinned)
            add_append(g, y, z, &e);
        fuse_graph(g, backend_find("ref"), &e);
        ok(count_kind(g, &conv2d_kind) == 1 && count_kind(g, &relu_kind) == 1,
           "a result stays that %s", pinned ? "is pinned" : "has two readers");
        graph_destroy(g);
    }
}

/* A leaky ReLU stays behind a convolution and behind a norm. */
static void check_leaky(void)
{
    struct err e;
    struct graph *g = graph_create(true, &e);
    struct tensor *x = graph_input(g, "x", shape_nhwc(1, 4, 4, 3), &e);

    x = relu_append_leaky(g, conv2d_append(g, "conv", x, 3, 3, 1, 1, true, &e), 0.01, &e);
    relu_append_leaky(g, batch_norm_append(g, "bn", x, false, &e), 0.01, &e);
    fuse_graph(g, backend_find("ref"), &e);
    ok(count_kind(g, &relu_kind) == 2 && count_kind(g, &batch_norm_kind) == 1 &&
           count_kind(g, &conv2d_kind) == 1,
       "a leaky ReLU is an op of its own");
    graph_destroy(g);
}

int main(void)
{
    for (size_t i = 0; backends[i] && !backends[i]->device; i++) {
        for (pool_side = 2; pool_side <= 3; pool_side++)
            check_training(backends[i]);
        check_pools(backends[i]);
        check_residual(backends[i]);
        check_inference(backends[i], build_encoder, 2);
        check_inference(backends[i], build_residual, 2);
    }
    check_bias_grads();
    check_readers();
    check_leaky();
    return done_testing();
}
