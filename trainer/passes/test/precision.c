/* SPDX-License-Identifier: BSD-3-Clause */
/* Mixed precision: which tensors have 16 bits, casts where kernels are missing, and trainings that
 * follow those in floats. */
#include "src/base.h"
#include "trainer/backends/backends.h"
#include "trainer/passes/passes.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/network/network.h"
#include "trainer/ops/ops.h"
#include "trainer/optim/optim.h"

#define STEPS 20

static void build_small(struct graph *g, struct err *e)
{
    const struct loss_terms both = {.loss = LOSS_CE_DICE, .alpha = 0.5, .beta = 0.5};
    struct tensor *x;

    g->input = graph_input(g, "input", shape_nhwc(2, 8, 8, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(2, 8, 8, 1), e);
    x = relu_append(g, conv2d_append(g, "one", g->input, 8, 3, 1, 1, true, e), e);
    x = add_append(g, x, x, e);
    g->logits = conv2d_append(g, "head", x, 1, 1, 1, 1, true, e);
    if (!g->logits || loss_append(g, &both, g->logits, g->target, e) ||
        graph_backward(g, e))
        bail_out("%s", e->text);
}

static size_t count_dtype(const struct graph *g, enum dtype t)
{
    size_t n = 0;

    for (size_t i = 0; i < g->ntensors; i++)
        n += g->tensors[i]->dtype == t;
    return n;
}

static size_t count_casts(const struct graph *g, size_t n)
{
    size_t ncasts = 0;

    for (size_t i = 0; i < n; i++)
        ncasts += g->ops[i]->kind == &cast_kind;
    return ncasts;
}

/* Returns whether every op reads only tensors that were written before. */
static bool is_in_order(const struct graph *g)
{
    for (size_t i = 0; i < g->nops; i++)
        for (int k = -1; op_next_in(g->ops[i], &k);) {
            const struct tensor *t = g->ops[i]->in[k];
            bool written = false, later = false;

            for (size_t j = 0; j < g->nops; j++)
                for (int o = -1; op_next_out(g->ops[j], &o);)
                    if (g->ops[j]->out[o] == t)
                        *(j < i ? &written : &later) = true;
            if (later && !written)
                return false;
        }
    return true;
}

static void check_marks(void)
{
    struct err e = {0};
    struct graph *g = graph_create(true, &e);
    const struct backend *ref = backend_find("ref");

    build_small(g, &e);
    precision_mark(g, DTYPE_F32);
    ok(count_dtype(g, DTYPE_F32) == g->ntensors, "floats stay");
    precision_mark(g, DTYPE_BF16);
    ok(g->logits->dtype == DTYPE_F32 && g->input->dtype == DTYPE_F32 &&
           g->target->dtype == DTYPE_F32 && g->logits->grad->dtype == DTYPE_F32,
       "images, targets, logits and the sum of two losses' gradients stay floats");
    ok(count_dtype(g, DTYPE_BF16) == 6, "activations and their gradients do not: %zu",
       count_dtype(g, DTYPE_BF16));
    size_t nops = g->nops, nforward = g->nforward;
    ok(precision_lower(g, ref, &e) == 0 && g->nops > nops, "casts are put in");
    ok(g->nforward == nforward + count_casts(g, g->nforward) &&
           g->ops[g->nforward - 1]->kind != &cast_kind,
       "the ops of forward still end with the losses");
    ok(is_in_order(g), "no op reads what is written behind it");
    nops = g->nops;
    ok(precision_lower(g, ref, &e) == 0 && g->nops == nops, "a second time there is nothing to do");
    graph_destroy(g);
}

/* A network, and images with something to learn for each pixel or each image. */
struct subject {
    const char *name;
    struct network_config network;
    int batch;
    double rate; /* so small that trainings of floats which differ in the last bit stay together */
};

static size_t count_targets(const struct subject *s)
{
    size_t npixels = (size_t)(s->network.height * s->network.width);

    return (size_t)s->batch * (s->network.classes > 1 ? 1 : npixels);
}

static void fill_network(struct network *n, const struct subject *s)
{
    struct err e;
    float *x = network_input(n, true, s->batch, &e), *t = network_target(n, true, s->batch, &e);
    size_t ntargets = count_targets(s), classes = (size_t)s->network.classes;
    size_t nvalues = (size_t)(s->batch * s->network.height * s->network.width) *
                     (size_t)s->network.channels;

    for (size_t i = 0; i < ntargets; i++)
        t[i] = classes > 1 ? (float)(i % classes) : rng_uniform(2, 0, i) < 0.3;
    for (size_t i = 0; i < nvalues; i++) {
        float target = t[i / (nvalues / ntargets)];

        x[i] = (float)(0.3 * rng_uniform(2, 1, i)) + 0.7F * (classes > 1 ? target / (float)classes
                                                                         : target);
    }
}

static void train_subject(const struct subject *s, const char *backend, enum dtype t,
                          double losses[STEPS])
{
    struct network_config c = s->network;
    struct err e;
    struct network *n;
    struct optim *o;
    double ntargets = (double)count_targets(s);

    c.backend = backend;
    c.dtype = t;
    n = network_create(&c, &e);
    o = n ? optim_create(&(struct optim_config){0}, network_weights(n), &e) : NULL;
    if (!o)
        bail_out("%s", e.text);
    for (int i = 0; i < STEPS; i++) {
        struct network_step step = {.images = s->batch, .loss_divisor = ntargets};
        double sum = 0;

        fill_network(n, s);
        if (network_train(n, s->batch, step, &sum, NULL, NULL, &e) || network_wait(n, &sum, &e))
            bail_out("%s", e.text);
        optim_step(o, network_weights(n), s->rate, 0);
        losses[i] = sum / ntargets;
    }
    optim_destroy(o);
    network_destroy(n);
}

static void check_training(const struct subject *s, const char *backend)
{
    double wide[STEPS], half[STEPS], worst = 0;

    train_subject(s, backend, DTYPE_F32, wide);
    train_subject(s, backend, DTYPE_BF16, half);
    for (int i = 0; i < STEPS; i++)
        worst = fmax(worst, fabs(wide[i] - half[i]));
    ok(half[STEPS - 1] < half[0] - 0.04, "%s: %s: bf16 learns: %.4f to %.4f", backend, s->name,
       half[0], half[STEPS - 1]);
    ok(worst > 0 && worst < 1e-3, "%s: %s: the losses of bf16 are at most %.1e from those of f32",
       backend, s->name, worst);
}

static void check_trainings(void)
{
    const struct subject small = {
        "small", {.model = "unet", .base = 8, .depth = 2, .channels = 1, .height = 32, .width = 48,
                  .threads = 2, .seed = 3, .batch_norm = BATCH_NORM_LOCAL}, 4, 1e-3};
    const struct subject reference = {
        "reference network", {.model = "unet", .base = 8, .depth = 4, .channels = 1, .height = 128,
                              .width = 192, .threads = 2, .seed = 3,
                              .batch_norm = BATCH_NORM_LOCAL}, 4, 1e-3};
    const struct subject resnet = {
        "ResNet-20", {.model = "resnet20", .channels = 3, .classes = 10, .height = 32, .width = 32,
                      .threads = 2, .seed = 3}, 32, 1e-4};

    check_training(&small, "ref");
    check_training(&small, backends[0]->name);
    check_training(&reference, backends[0]->name);
    check_training(&resnet, backends[0]->name);
}

static void check_refusals(void)
{
    struct network_config c = {.model = "unet", .backend = "ref", .dtype = DTYPE_F16, .channels = 1,
                               .height = 32, .width = 32, .threads = 1};
    struct err e;
    enum dtype t;
    bool tf32;

    ok(!network_create(&c, &e) && e.code == ERR_CONFIG, "fp16 without scaling is refused: %s", e.text);
    ok(precision_parse("bf16", &t, &tf32, &e) == 0 && t == DTYPE_BF16 && !tf32 &&
           precision_parse("tf32", &t, &tf32, &e) == 0 && t == DTYPE_F32 && tf32 &&
           precision_parse("f64", &t, &tf32, &e) < 0 && e.code == ERR_USAGE,
       "types have names: %s", e.text);
    c.dtype = DTYPE_F32;
    c.tf32 = true;
    ok(!network_create(&c, &e) && e.code == ERR_CONFIG, "tf32 on the host is refused: %s", e.text);
}

int main(void)
{
    check_marks();
    check_trainings();
    check_refusals();
    return done_testing();
}
