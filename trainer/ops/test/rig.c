/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/ops/test/rig.h"

#include <math.h>
#include <stdlib.h>

#include "src/rng.h"
#include "t/tap.h"

#define GUARD 64 /* floats before and behind each tensor */
#define SENTINEL 12345.678F
#define KINK 0.2 /* results of batch_norm_relu nearer to 0 before the ReLU have no weight */

static float *guarded_alloc(const struct rig *r, struct guarded *g, size_t count)
{
    size_t nbytes = (count + 2 * GUARD) * sizeof(float);
    struct err e;

    g->count = count;
    g->block = r->device ? r->ops->alloc(r->device, DEVICE_SHARED, nbytes, &e)
                         : aligned_alloc(64, (nbytes + 63) / 64 * 64);
    if (!g->block)
        bail_out("out of memory");
    return g->block + GUARD;
}

static void guarded_free(const struct rig *r, struct guarded *g)
{
    if (r->device)
        r->ops->free(r->device, DEVICE_SHARED, g->block);
    else
        free(g->block);
}

static void guarded_clear(struct guarded *g)
{
    for (size_t i = 0; i < g->count + 2 * GUARD; i++)
        g->block[i] = i < GUARD || i >= GUARD + g->count ? SENTINEL : NAN;
}

static bool guarded_is_intact(const struct guarded *g)
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

/* Does one of the first n ops write it? */
static bool is_result(const struct rig *r, const struct tensor *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < r->graph->ops[i]->kind->nout; k++)
            if (r->graph->ops[i]->out[k] == t)
                return true;
    return false;
}

/* A ReLU's gradient jumps where its source is 0, and a difference across that says nothing: results
 * near it get no weight. What is left is smooth, and exact for the gradient of all others. */
static void weigh_kinks(struct rig *r)
{
    const float *x = r->op->in[0]->data, *gamma = r->op->in[1]->data, *beta = r->op->in[2]->data;
    size_t nchannels = tensor_channels(r->op->in[0]), n = tensor_pixels(r->op->in[0]);

    for (size_t c = 0; c < nchannels; c++) {
        double mean = 0, var = 0;

        for (size_t i = 0; i < n; i++)
            mean += (double)x[i * nchannels + c] / (double)n;
        for (size_t i = 0; i < n; i++)
            var += pow((double)x[i * nchannels + c] - mean, 2) / (double)n;
        for (size_t i = 0; i < n; i++) {
            double scaled = ((double)x[i * nchannels + c] - mean) / sqrt(var + r->op->attr.eps);

            if (fabs((double)gamma[c] * scaled + (double)beta[c]) < KINK)
                r->dy->data[i * nchannels + c] = 0;
        }
    }
}

static struct tensor *input_of(const struct rig *r, int i)
{
    return i < r->test->kind->nin ? r->op->in[i] : r->dy;
}

static void make_numbers(struct rig *r)
{
    int nin = r->test->kind->nin;

    for (int i = 0; i < nin; i++)
        for (size_t k = 0; k < tensor_count(r->op->in[i]); k++)
            r->op->in[i]->data[k] = (float)value_of(r->test->values[i], (uint64_t)i, k);
    for (size_t k = 0; r->dy && k < tensor_count(r->dy); k++)
        r->dy->data[k] = (float)rng_normal(14, 0, k);
    if (r->dy && r->test->kind == &batch_norm_relu_kind)
        weigh_kinks(r);
    for (int i = 0; i < nin + (r->dy != NULL); i++) {
        size_t nbytes = tensor_count(input_of(r, i)) * sizeof(float);

        r->numbers[i] = malloc(nbytes);
        if (!r->numbers[i])
            bail_out("out of memory");
        memcpy(r->numbers[i], input_of(r, i)->data, nbytes);
    }
}

void rig_fill(struct rig *r)
{
    for (int i = 0; i < r->test->kind->nin + (r->dy != NULL); i++)
        memcpy(input_of(r, i)->data, r->numbers[i],
               tensor_count(input_of(r, i)) * sizeof(float));
}

static void append_gradient(const struct test_case *t, struct graph *g, struct err *e)
{
    struct op *op = g->ops[0];

    for (int i = 0; i < t->ndata + t->nparams; i++)
        op->in[i]->needs_grad = true;
    for (int i = t->ndata; i < t->ndata + t->nparams; i++)
        op->in[i]->grad = graph_input(g, "grad", t->in[i], e);
    if (!op_is_loss(t->kind))
        op->out[0]->grad = graph_input(g, "dy", op->out[0]->shape, e);
    if (t->kind->grad(g, op, e) < 0)
        bail_out("%s: %s", t->kind->name, e->text);
}

struct graph *rig_graph(const struct test_case *test)
{
    struct err e = {0};
    struct graph *g = graph_create(true, &e);
    struct tensor *in[OP_MAX_IN];

    if (!g)
        bail_out("%s", e.text);
    for (int i = 0; i < test->kind->nin; i++)
        in[i] = graph_input(g, "in", test->in[i], &e);
    if (!graph_append(g, test->kind, &test->attr, in, NULL, &e))
        bail_out("%s: %s", test->kind->name, e.text);
    if (test->step > 0)
        append_gradient(test, g, &e);
    return g;
}

bool rig_is_possible(const struct test_case *test, const struct backend *backend)
{
    struct graph *g = rig_graph(test);
    bool possible = true;

    for (size_t i = 0; i < g->nops; i++)
        possible = possible && backend_kernel(backend, g->ops[i]);
    graph_destroy(g);
    return possible;
}

static void prepare(struct rig *r, const struct backend *backend, size_t i)
{
    struct op *op = r->graph->ops[i];
    struct err e;

    op->kernel = backend_kernel(backend, op);
    if (!op->kernel)
        bail_out("%s: no kernel for %s", backend->name, op->kind->name);
    if (op->kernel->prepare && op->kernel->prepare(op, &e) < 0)
        bail_out("%s: %s", op->kind->name, e.text);
    op->workspace = guarded_alloc(r, &r->workspaces[i], (op->workspace_size + 3) / 4);
}

void rig_create(struct rig *r, const struct test_case *test, const struct backend *backend,
                struct device *device)
{
    *r = (struct rig){.test = test, .graph = rig_graph(test), .ops = backend->device,
                      .device = device};
    r->op = r->graph->ops[0];
    if (test->step > 0 && !op_is_loss(test->kind))
        r->dy = r->op->out[0]->grad;
    for (size_t i = 0; i < r->graph->nops; i++)
        prepare(r, backend, i);
    for (size_t i = 0; i < r->graph->ntensors; i++) {
        struct tensor *t = r->graph->tensors[i];

        t->data = guarded_alloc(r, &r->tensors[i], tensor_count(t));
        guarded_clear(&r->tensors[i]);
    }
    make_numbers(r);
}

void rig_destroy(struct rig *r)
{
    for (size_t i = 0; i < r->graph->nops; i++)
        guarded_free(r, &r->workspaces[i]);
    for (size_t i = 0; i < r->graph->ntensors; i++)
        guarded_free(r, &r->tensors[i]);
    for (int i = 0; i <= OP_MAX_IN; i++)
        free(r->numbers[i]);
    graph_destroy(r->graph);
}

static void begin(struct rig *r, struct exec *x)
{
    struct err e;

    *x = (struct exec){.grad_scale = 1, .image_scale = 1, .loss_per_weight = 1,
                       .loss_per_image = 1, .device = r->device};
    if (r->device && r->ops->begin(r->device, 0, x, &e) < 0)
        bail_out("%s", e.text);
}

static void end(struct rig *r, struct exec *x)
{
    struct device_sums sums = {.loss = x->loss_sum};
    struct err e;

    if (r->device &&
        (r->ops->end(r->device, 0, &e) < 0 || r->ops->wait(r->device, 0, &sums, &e) < 0))
        bail_out("%s", e.text);
    r->loss = sums.loss;
}

static void run_op(struct op *op, struct exec *x)
{
    struct err e;

    if (op->kernel->run(op, x, &e) < 0)
        bail_out("%s: %s", op->kind->name, e.text);
}

void rig_run(struct rig *r, size_t n)
{
    struct exec x;

    for (size_t i = 0; i < r->graph->ntensors; i++)
        if (is_result(r, r->graph->tensors[i], n))
            guarded_clear(&r->tensors[i]);
    for (size_t i = 0; i < n; i++)
        guarded_clear(&r->workspaces[i]);
    begin(r, &x);
    for (size_t i = 0; i < n; i++)
        run_op(r->graph->ops[i], &x);
    end(r, &x);
}

void rig_repeat(struct rig *r, struct op *op, long times)
{
    struct exec x;

    begin(r, &x);
    for (long i = 0; i < times; i++)
        run_op(op, &x);
    end(r, &x);
}

bool rig_is_intact(const struct rig *r)
{
    for (size_t i = 0; i < r->graph->ntensors; i++)
        if (!guarded_is_intact(&r->tensors[i]))
            return false;
    for (size_t i = 0; i < r->graph->nops; i++)
        if (!guarded_is_intact(&r->workspaces[i]))
            return false;
    return true;
}
