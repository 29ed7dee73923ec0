/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of op on every backend: values against the reference kernels, gradients against
 * central differences, and nothing written outside the results.
 *
 * To cover a new kind add a line to `cases`. All tensors and workspaces of a case lie in guarded
 * memory of their own, filled with NaN before each run. Numbers are made from fixed seeds, so a
 * failing line can be repeated. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/core/graph.h"

#define GUARD 64 /* floats before and behind each tensor */
#define SENTINEL 12345.678F
#define MAX_TENSORS 24
#define MAX_PROBES 40

enum values {
    VALUES_NORMAL,   /* around 0 */
    VALUES_POSITIVE, /* 0.5 .. 1.5: variances */
    VALUES_UNIT,     /* 0 .. 1: targets */
    VALUES_HOLES,    /* 0 .. 1, and -1: targets of which some do not count */
    VALUES_CLASS,    /* 0, 1, 2, and -1: classes, of which some do not count */
    VALUES_APART     /* all at least 0.02 apart and from 0: for ops with kinks */
};

struct test_case {
    const struct op_kind *kind;
    struct op_attr attr;
    struct shape in[OP_MAX_IN];
    enum values values[OP_MAX_IN];
    int ndata;   /* the first inputs: activations with a gradient */
    int nparams; /* the next: parameters; the rest has no gradient */
    /* Of the central difference; 0: the kind has no gradient; below 0: it has kinks everywhere, and
     * the reference was tested in its parts (core/test/fuse.c). */
    double step;
};

#define NHWC(n, h, w, c) {4, {n, h, w, c}}
#define VECTOR(c) {1, {c}}

#define CONV(n, h, w, ci, co, k)                                                      \
    {&conv2d_kind, {.kernel = k}, {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, \
     {VALUES_NORMAL}, 1, 2, 0.5}
#define CONV_STRIDED(n, h, w, ci, co, k)                                                  \
    {&conv2d_kind, {.kernel = k, .stride = 2},                                            \
     {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, {VALUES_NORMAL}, 1, 2, 0.5}
#define CONV_NOBIAS(n, h, w, ci, co, k, s)                                                    \
    {&conv2d_nobias_kind, {.kernel = k, .stride = s}, {NHWC(n, h, w, ci), NHWC(co, ci, k, k)}, \
     {VALUES_NORMAL}, 1, 1, 0.5}
#define CONV_TRANSPOSE(n, h, w, ci, co)                                                        \
    {&conv_transpose2d_kind, {0}, {NHWC(n, h, w, ci), NHWC(ci, co, 2, 2), VECTOR(co)},         \
     {VALUES_NORMAL}, 1, 2, 0.5}
#define BATCH_NORM(kind, n, h, w, c, step)                                             \
    {&kind, {.eps = 1e-5, .momentum = 0.1},                                            \
     {NHWC(n, h, w, c), VECTOR(c), VECTOR(c), VECTOR(c), VECTOR(c)},                   \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, 1, 2, step}
#define UNARY(kind, n, h, w, c) \
    {&kind, {0}, {NHWC(n, h, w, c)}, {VALUES_APART}, 1, 0, 0.008}
#define CONCAT(n, h, w, a, b) \
    {&concat_kind, {0}, {NHWC(n, h, w, a), NHWC(n, h, w, b)}, {VALUES_NORMAL}, 2, 0, 0.5}
#define ADD(n, h, w, c) \
    {&add_kind, {0}, {NHWC(n, h, w, c), NHWC(n, h, w, c)}, {VALUES_NORMAL}, 2, 0, 0.5}
#define POOL_ADD(n, h, w, c)                                                                \
    {&max_pool2d_grad_add_kind, {0}, {NHWC(n, 2 * h, 2 * w, c), NHWC(n, h, w, c),           \
                                      NHWC(n, 2 * h, 2 * w, c)}, {VALUES_NORMAL}, 3, 0, 0}
#define GLOBAL_AVG_POOL(n, h, w, c) \
    {&global_avg_pool_kind, {0}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 1, 0, 0.5}
#define SUBSAMPLE(n, h, w, a, b) \
    {&subsample_kind, {.channels = b}, {NHWC(n, h, w, a)}, {VALUES_NORMAL}, 1, 0, 0.5}
#define BCE(n, h, w) \
    {&bce_kind, {0}, {NHWC(n, h, w, 1), NHWC(n, h, w, 1)}, {VALUES_NORMAL, VALUES_UNIT}, 1, 0, 0.02}
#define LOSS(kind, n, h, w, c, values, weights)                                          \
    {&kind, {.class_weights = weights}, {NHWC(n, h, w, c), NHWC(n, h, w, 1)},            \
     {VALUES_NORMAL, values}, 1, 0, 0.04}

static const float weights[] = {0.5F, 2, 1, 0.25F, 3, 1, 1};

static const struct test_case cases[] = {
    CONV(1, 5, 7, 1, 8, 3),
    CONV(2, 6, 5, 3, 8, 3),
    CONV(2, 8, 8, 8, 8, 3),
    CONV(1, 7, 9, 16, 8, 3),
    CONV(2, 4, 6, 8, 16, 3),
    CONV(1, 9, 33, 16, 16, 3),
    CONV(1, 1, 1, 3, 5, 3),
    CONV(3, 2, 3, 5, 7, 3),
    CONV(1, 3, 4, 24, 40, 3),
    CONV(1, 4, 20, 32, 64, 3),
    CONV(2, 7, 42, 8, 8, 3),
    CONV(1, 5, 22, 16, 8, 3),
    CONV(3, 3, 12, 5, 4, 3),
    CONV(1, 35, 62, 1, 8, 3),
    CONV(2, 5, 17, 16, 48, 3),
    CONV(1, 5, 21, 32, 32, 3),
    CONV(2, 6, 14, 16, 32, 3),
    CONV(1, 2, 2, 32, 16, 3),
    CONV(1, 10, 8, 16, 16, 3),
    CONV(2, 17, 3, 1, 3, 3),
    CONV(1, 5, 6, 3, 16, 3),
    CONV(1, 4, 5, 8, 1, 1),
    CONV(2, 3, 3, 3, 1, 1),
    CONV(1, 19, 31, 16, 1, 1),
    CONV(1, 6, 7, 16, 4, 1),
    CONV_STRIDED(1, 5, 7, 3, 8, 3),
    CONV_STRIDED(2, 8, 6, 16, 32, 3),
    CONV_STRIDED(1, 4, 5, 16, 32, 1),
    CONV_STRIDED(2, 8, 8, 8, 16, 1),
    CONV_NOBIAS(2, 6, 5, 3, 16, 3, 1),
    CONV_NOBIAS(1, 8, 8, 16, 16, 3, 1),
    CONV_NOBIAS(2, 8, 8, 16, 32, 3, 2),
    CONV_NOBIAS(1, 7, 5, 5, 7, 3, 2),
    CONV_TRANSPOSE(1, 3, 5, 1, 8),
    CONV_TRANSPOSE(2, 4, 3, 16, 8),
    CONV_TRANSPOSE(1, 5, 5, 3, 3),
    CONV_TRANSPOSE(1, 2, 7, 32, 16),
    CONV_TRANSPOSE(2, 1, 1, 8, 5),
    CONV_TRANSPOSE(3, 2, 19, 16, 8),
    CONV_TRANSPOSE(1, 3, 6, 48, 24),
    BATCH_NORM(batch_norm_kind, 1, 5, 7, 1, 0.02),
    BATCH_NORM(batch_norm_kind, 2, 6, 5, 3, 0.02),
    BATCH_NORM(batch_norm_kind, 2, 9, 7, 8, 0.02),
    BATCH_NORM(batch_norm_kind, 1, 11, 5, 16, 0.02),
    BATCH_NORM(batch_norm_kind, 3, 3, 5, 70, 0.02),
    BATCH_NORM(batch_norm_infer_kind, 2, 3, 5, 8, 0),
    BATCH_NORM(batch_norm_infer_kind, 1, 7, 3, 3, 0),
    BATCH_NORM(batch_norm_relu_kind, 1, 5, 7, 1, -1),
    BATCH_NORM(batch_norm_relu_kind, 2, 9, 7, 8, -1),
    BATCH_NORM(batch_norm_relu_kind, 3, 13, 11, 5, -1),
    BATCH_NORM(batch_norm_relu_kind, 1, 6, 5, 130, -1),
    BATCH_NORM(batch_norm_relu_infer_kind, 1, 7, 3, 3, 0),
    UNARY(relu_kind, 1, 5, 7, 3),
    UNARY(relu_kind, 2, 3, 3, 16),
    UNARY(max_pool2d_kind, 1, 2, 2, 1),
    UNARY(max_pool2d_kind, 2, 6, 4, 3),
    UNARY(max_pool2d_kind, 1, 4, 10, 8),
    UNARY(max_pool2d_kind, 2, 4, 2, 16),
    POOL_ADD(1, 2, 2, 1),
    POOL_ADD(2, 3, 5, 8),
    POOL_ADD(1, 2, 7, 16),
    CONCAT(1, 3, 5, 1, 3),
    CONCAT(2, 4, 3, 8, 8),
    CONCAT(1, 5, 1, 16, 3),
    ADD(1, 5, 7, 3),
    ADD(2, 4, 4, 16),
    GLOBAL_AVG_POOL(2, 5, 7, 3),
    GLOBAL_AVG_POOL(3, 8, 8, 64),
    SUBSAMPLE(2, 5, 7, 3, 6),
    SUBSAMPLE(1, 8, 6, 16, 32),
    SUBSAMPLE(1, 4, 4, 3, 4),
    BCE(1, 7, 11),
    BCE(2, 16, 5),
    LOSS(bce_kind, 1, 9, 71, 1, VALUES_HOLES, weights),
    LOSS(softmax_ce_kind, 1, 7, 11, 3, VALUES_CLASS, NULL),
    LOSS(softmax_ce_kind, 2, 5, 9, 7, VALUES_CLASS, weights),
    LOSS(dice_kind, 1, 7, 11, 1, VALUES_UNIT, NULL),
    LOSS(dice_kind, 2, 9, 8, 1, VALUES_HOLES, NULL),
    LOSS(dice_kind, 3, 5, 9, 4, VALUES_CLASS, NULL),
};

struct guarded {
    float *block;
    size_t count;
    struct device *device;
};

/* Where the backend that is being tested computes; NULL: here. */
static const struct device_ops *ops;
static struct device *opened, *device;

/* One case on one backend: its op and the ops of its gradient. */
struct bench {
    const struct test_case *test;
    struct graph *graph;
    struct op *op;
    struct tensor *dy; /* NULL for the loss */
    struct device *device;
    struct guarded tensors[MAX_TENSORS], workspaces[MAX_TENSORS];
    double loss;
};

static float *guarded_alloc(struct guarded *g, size_t count)
{
    size_t nbytes = (count + 2 * GUARD) * sizeof(float);
    struct err e;

    g->count = count;
    g->device = device;
    g->block = device ? ops->alloc(device, DEVICE_SHARED, nbytes, &e)
                      : aligned_alloc(64, (nbytes + 63) / 64 * 64);
    if (!g->block)
        bail_out("out of memory");
    return g->block + GUARD;
}

static void guarded_free(struct guarded *g)
{
    if (g->device)
        ops->free(g->device, DEVICE_SHARED, g->block);
    else
        free(g->block);
}

static void guarded_clear(struct guarded *g)
{
    for (size_t i = 0; i < g->count + 2 * GUARD; i++)
        g->block[i] = i < GUARD || i >= GUARD + g->count ? SENTINEL : NAN;
}

static bool guarded_intact(const struct guarded *g)
{
    for (size_t i = 0; i < GUARD; i++)
        if (g->block[i] != SENTINEL || g->block[GUARD + g->count + i] != SENTINEL)
            return false;
    return true;
}

static double value_of(enum values how, uint64_t stream, uint64_t i)
{
    switch (how) {
    case VALUES_POSITIVE:
        return 0.5 + rng_uniform(11, stream, i);
    case VALUES_UNIT:
        return rng_uniform(12, stream, i);
    case VALUES_HOLES:
        return rng_uniform(16, stream, i) < 0.2 ? -1 : rng_uniform(12, stream, i);
    case VALUES_CLASS:
        return floor(4 * rng_uniform(12, stream, i)) - 1;
    case VALUES_APART: /* odd multiples of 0.01 in a shuffled order: 911 is prime to 4096 */
        return 0.02 * (double)(i * 911 % 4096) - 40.95;
    default:
        return rng_normal(13, stream, i);
    }
}

static bool is_input(const struct bench *b, const struct tensor *t)
{
    for (int i = 0; i < b->test->kind->nin; i++)
        if (b->op->in[i] == t)
            return true;
    return t == b->dy;
}

static void fill_inputs(struct bench *b)
{
    for (int i = 0; i < b->test->kind->nin; i++)
        for (size_t k = 0; k < tensor_count(b->op->in[i]); k++)
            b->op->in[i]->data[k] = (float)value_of(b->test->values[i], (uint64_t)i, k);
    for (size_t k = 0; b->dy && k < tensor_count(b->dy); k++)
        b->dy->data[k] = (float)rng_normal(14, 0, k);
}

static void append_gradient(struct bench *b, struct err *e)
{
    const struct test_case *t = b->test;

    for (int i = 0; i < t->ndata + t->nparams; i++)
        b->op->in[i]->needs_grad = true;
    for (int i = t->ndata; i < t->ndata + t->nparams; i++)
        b->op->in[i]->grad = graph_input(b->graph, "grad", t->in[i], e);
    if (!op_is_loss(t->kind))
        b->dy = b->op->out[0]->grad = graph_input(b->graph, "dy", b->op->out[0]->shape, e);
    if (t->kind->grad(b->graph, b->op, e) < 0)
        bail_out("%s: %s", t->kind->name, e->text);
}

static void create(struct bench *b, const struct test_case *test, const struct backend *backend)
{
    struct tensor *in[OP_MAX_IN];
    struct err e = {0};

    device = backend->device ? opened : NULL;
    *b = (struct bench){.test = test, .device = device, .graph = graph_create(true, &e)};
    for (int i = 0; i < test->kind->nin; i++)
        in[i] = graph_input(b->graph, "in", test->in[i], &e);
    b->op = graph_append(b->graph, test->kind, &test->attr, in, NULL, &e);
    if (!b->op)
        bail_out("%s: %s", test->kind->name, e.text);
    if (test->step < 0 || test->step > 0)
        append_gradient(b, &e);
    for (size_t i = 0; i < b->graph->nops; i++) {
        struct op *op = b->graph->ops[i];

        op->kernel = backend_kernel(backend, op);
        if (!op->kernel)
            bail_out("%s: no kernel for %s", backend->name, op->kind->name);
        if (op->kernel->prepare && op->kernel->prepare(op, &e) < 0)
            bail_out("%s: %s", op->kind->name, e.text);
        op->workspace = guarded_alloc(&b->workspaces[i], (op->workspace_size + 3) / 4);
    }
    for (size_t i = 0; i < b->graph->ntensors; i++) {
        struct tensor *t = b->graph->tensors[i];

        t->data = guarded_alloc(&b->tensors[i], tensor_count(t));
        guarded_clear(&b->tensors[i]);
    }
    fill_inputs(b);
}

static void destroy(struct bench *b)
{
    for (size_t i = 0; i < b->graph->nops; i++)
        guarded_free(&b->workspaces[i]);
    for (size_t i = 0; i < b->graph->ntensors; i++)
        guarded_free(&b->tensors[i]);
    graph_destroy(b->graph);
}

/* Runs the first n ops; results and workspaces are NaN before. */
static void run(struct bench *b, size_t n)
{
    struct exec x = {.grad_scale = 1, .image_scale = 1, .loss_per_weight = 1, .loss_per_image = 1,
                     .device = b->device};
    struct err e;

    for (size_t i = 0; i < b->graph->ntensors; i++)
        if (!is_input(b, b->graph->tensors[i]))
            guarded_clear(&b->tensors[i]);
    if (b->device && ops->begin(b->device, 0, &x, &e) < 0)
        bail_out("%s", e.text);
    for (size_t i = 0; i < n; i++) {
        guarded_clear(&b->workspaces[i]);
        if (b->graph->ops[i]->kernel->run(b->graph->ops[i], &x, &e) < 0)
            bail_out("%s: %s", b->graph->ops[i]->kind->name, e.text);
    }
    if (b->device && (ops->end(b->device, 0, &e) < 0 ||
                      ops->wait(b->device, 0, &x.loss_sum, &e) < 0))
        bail_out("%s", e.text);
    b->loss = x.loss_sum;
}

static bool all_intact(const struct bench *b)
{
    for (size_t i = 0; i < b->graph->ntensors; i++)
        if (!guarded_intact(&b->tensors[i]))
            return false;
    for (size_t i = 0; i < b->graph->nops; i++)
        if (!guarded_intact(&b->workspaces[i]))
            return false;
    return true;
}

/* Largest difference relative to the largest value; NaN and infinity where one has them. */
static double difference(const float *a, const float *b, size_t n)
{
    double largest = 0, scale = 1e-30;

    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);

        if (!isfinite(d))
            return INFINITY;
        largest = fmax(largest, d);
        scale = fmax(scale, fabs((double)b[i]));
    }
    return largest / scale;
}

static double compare(const struct bench *got, const struct bench *want)
{
    double largest = fabs(got->loss - want->loss) / fmax(fabs(want->loss), 1e-30);

    for (size_t i = 0; i < got->graph->ntensors; i++)
        largest = fmax(largest, difference(got->graph->tensors[i]->data,
                                           want->graph->tensors[i]->data,
                                           tensor_count(got->graph->tensors[i])));
    return largest;
}

/* The scalar whose gradients are taken: the loss, or the result weighted with dy. */
static double objective(struct bench *b)
{
    const struct tensor *y = b->op->out[0];
    double sum = 0;

    run(b, 1);
    if (!b->dy)
        return b->loss;
    for (size_t i = 0; i < tensor_count(y); i++)
        sum += (double)y->data[i] * (double)b->dy->data[i];
    return sum;
}

/* Central difference for value i of input k. Richardson's step (4 d(h) - d(2h)) / 3 removes the
 * error of second order. */
static double slope(struct bench *b, int k, size_t i)
{
    double d[2], h = b->test->step;
    float *value = &b->op->in[k]->data[i], old = *value;

    for (int n = 0; n < 2; n++) {
        volatile float up = old + (float)(h * (n + 1)), down = old - (float)(h * (n + 1));
        double above, below;

        *value = up;
        above = objective(b);
        *value = down;
        below = objective(b);
        *value = old;
        d[n] = (above - below) / ((double)up - (double)down);
        fill_inputs(b); /* batch norm moved its running statistics */
    }
    return b->test->values[k] == VALUES_APART ? d[0] : (4 * d[0] - d[1]) / 3;
}

/* Largest error of the gradient of input k relative to its largest value. */
static double check_slopes(struct bench *b, int k, const float *grad)
{
    size_t n = tensor_count(b->op->in[k]), nprobes = n < MAX_PROBES ? n : MAX_PROBES;
    double largest = 0, scale = 1e-6;

    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs((double)grad[i]));
    for (size_t p = 0; p < nprobes; p++) {
        size_t i = n <= MAX_PROBES ? p : (size_t)(rng_uniform(15, (uint64_t)k, p) * (double)n);
        double error = fabs(slope(b, k, i) - (double)grad[i]) / scale;

        largest = isfinite(error) ? fmax(largest, error) : INFINITY;
    }
    return largest;
}

static double check_gradients(struct bench *b)
{
    double largest = 0;

    for (int k = 0; k < b->test->ndata + b->test->nparams; k++) {
        const struct tensor *grad = b->op->in[k]->grad;
        float *copy = malloc(tensor_count(grad) * sizeof *copy);

        fill_inputs(b);
        run(b, b->graph->nops);
        fill_inputs(b);
        memcpy(copy, grad->data, tensor_count(grad) * sizeof *copy);
        largest = fmax(largest, check_slopes(b, k, copy));
        free(copy);
    }
    return largest;
}

static void use_threads(int n)
{
#ifdef _OPENMP
    omp_set_num_threads(n);
#else
    (void)n;
#endif
}

/* Whether a backend does something of the case itself: what falls back was tested already. */
static bool has_own_kernel(const struct bench *b, const struct bench *ref)
{
    for (size_t i = 0; i < b->graph->nops; i++)
        if (b->graph->ops[i]->kernel != ref->graph->ops[i]->kernel)
            return true;
    return false;
}

static bool covered[64];

static void note_coverage(const struct graph *g)
{
    for (size_t i = 0; i < g->nops; i++)
        for (size_t k = 0; op_kinds[k]; k++)
            covered[k] = covered[k] || op_kinds[k] == g->ops[i]->kind;
}

static const char *describe(const struct test_case *t)
{
    static char text[256];

    snprintf(text, sizeof text, "%s", t->kind->name);
    for (int i = 0; i < t->kind->nin && i < 2; i++)
        for (int k = 0; k < t->in[i].ndim; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", k ? "x" : " ",
                     (int)t->in[i].dim[k]);
    return text;
}

/* With two threads: values as the reference, and nothing else written. */
static bool check_values(const struct test_case *t, const struct backend *backend,
                         const struct backend *reference)
{
    struct bench b, ref;
    double error;
    bool own;

    use_threads(2);
    create(&b, t, backend);
    create(&ref, t, reference);
    own = backend == reference || has_own_kernel(&b, &ref);
    if (own) {
        note_coverage(b.graph);
        run(&b, b.graph->nops);
        run(&ref, ref.graph->nops);
        error = compare(&b, &ref);
        ok(error < 1e-5, "%s: %s: values as the reference: %.1e", backend->name, describe(t),
           error);
        ok(all_intact(&b), "%s: %s: writes nothing else", backend->name, describe(t));
    }
    destroy(&b);
    destroy(&ref);
    return own;
}

/* With one thread: thousands of tiny runs would wait for each other. Not on a device, where each
 * has to be waited for: its gradients were compared with the reference's, which are right. */
static void check_case(const struct test_case *t, const struct backend *backend,
                       const struct backend *reference)
{
    struct bench b;
    double error;

    if (!check_values(t, backend, reference) || t->step <= 0 || backend->device)
        return;
    use_threads(1);
    create(&b, t, backend);
    error = check_gradients(&b);
    ok(error < 2e-3, "%s: %s: gradients as differences: %.1e", backend->name, describe(t), error);
    destroy(&b);
}

/* The order of sums does not depend on the threads. */
static void check_threads(const struct test_case *t, const struct backend *backend)
{
    struct bench one, two;
    bool same = true;

    use_threads(1);
    create(&one, t, backend);
    run(&one, one.graph->nops);
    use_threads(2);
    create(&two, t, backend);
    run(&two, two.graph->nops);
    for (size_t i = 0; i < one.graph->ntensors; i++)
        same = same && memcmp(one.graph->tensors[i]->data, two.graph->tensors[i]->data,
                              tensor_count(one.graph->tensors[i]) * sizeof(float)) == 0;
    ok(same && one.loss == two.loss, "%s: %s: the same bits with one thread and two",
       backend->name, describe(t));
    destroy(&one);
    destroy(&two);
}

static void check_coverage(void)
{
    for (size_t k = 0; op_kinds[k]; k++) {
        struct op op = {.kind = op_kinds[k]};
        const struct kernel *kernel = backend_kernel(backend_find("ref"), &op);

        ok(covered[k] && kernel && kernel->kind == op_kinds[k], "%s is covered", op_kinds[k]->name);
    }
}

/* Logits of a hundred and more: the loss is the distance, not infinity. */
static void check_bce_extremes(void)
{
    static const struct test_case t = BCE(1, 1, 4);
    struct bench b;

    create(&b, &t, backend_find("ref"));
    memcpy(b.op->in[0]->data, (float[]){200, -200, 200, -200}, 4 * sizeof(float));
    memcpy(b.op->in[1]->data, (float[]){1, 0, 0, 1}, 4 * sizeof(float));
    run(&b, 1);
    ok(fabs(b.loss - 400) < 1e-3, "bce: extreme logits cost %g", b.loss);
    ok(b.op->out[0]->data[0] == 0 && b.op->out[0]->data[1] == 0 && b.op->out[0]->data[2] == 1 &&
           b.op->out[0]->data[3] == -1,
       "bce: and their gradients are 0, 0, 1, -1");
    destroy(&b);
}

/* A mean of a thousand deviations must not drown the variance. */
static void check_batch_norm_offset(void)
{
    static const struct test_case t = BATCH_NORM(batch_norm_kind, 2, 16, 16, 2, 0);
    struct bench b;
    double sum = 0, squares = 0;

    create(&b, &t, backend_find("ref"));
    for (size_t i = 0; i < 1024; i++)
        b.op->in[0]->data[i] += 1000;
    for (size_t i = 0; i < 1024; i += 2) {
        sum += (double)b.op->in[0]->data[i] / 512;
        squares += pow((double)b.op->in[0]->data[i] - 1000, 2) / 512;
    }
    run(&b, 1);
    squares = 1 / sqrt(squares - (sum - 1000) * (sum - 1000) + 1e-5);
    ok(fabs((double)b.op->out[1]->data[2] / squares - 1) < 1e-5,
       "batch_norm: the scale is right at an offset of 1000");
    destroy(&b);
}

/* Equal values: the first in reading order has the gradient, as in PyTorch. */
static void check_pool_ties(const struct backend *backend)
{
    static const struct test_case t = UNARY(max_pool2d_kind, 1, 2, 4, 1);
    static const float values[] = {1, 1, 0, 2, 1, 1, 2, 2}, want[] = {1, 0, 0, 1, 0, 0, 0, 0};
    struct bench b;

    create(&b, &t, backend);
    memcpy(b.op->in[0]->data, values, sizeof values);
    b.dy->data[0] = b.dy->data[1] = 1;
    run(&b, b.graph->nops);
    ok(memcmp(b.op->in[0]->grad->data, want, sizeof want) == 0,
       "%s: max_pool2d: of equal values the first has the gradient", backend->name);
    destroy(&b);
}

/* A device has nothing to fall back to: not every op is for it. */
static bool has_kernel(const struct backend *backend, const struct test_case *t)
{
    struct tensor in[OP_MAX_IN], out[OP_MAX_OUT] = {0};
    struct op op = {.kind = t->kind, .attr = t->attr};

    for (int i = 0; i < t->kind->nin; i++) {
        in[i] = (struct tensor){.shape = t->in[i]};
        op.in[i] = &in[i];
    }
    for (int i = 0; i < t->kind->nout; i++)
        op.out[i] = &out[i];
    return backend_kernel(backend, &op) != NULL;
}

/* A backend whose device is not there can't be tested. */
static bool open_backend(const struct backend *backend)
{
    struct err e;

    ops = backend->device;
    opened = ops ? ops->open(0, &e) : NULL;
    if (ops && !opened)
        tap_skip(1, e.text);
    return !ops || opened;
}

static void close_backend(void)
{
    if (opened)
        ops->close(opened);
    opened = NULL;
}

int main(void)
{
    const struct backend *reference = backend_find("ref");

    for (size_t k = 0; backends[k]; k++) {
        if (!open_backend(backends[k]))
            continue;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (!backends[k]->device || has_kernel(backends[k], &cases[i]))
                check_case(&cases[i], backends[k], reference);
        check_pool_ties(backends[k]);
        close_backend();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_threads(&cases[i], backend_find("simd"));
        setenv("UNET_ISA", "avx2", 1);
        check_values(&cases[i], backend_find("simd"), reference);
        unsetenv("UNET_ISA");
    }
    check_coverage();
    check_bce_extremes();
    check_batch_norm_offset();
    return done_testing();
}
