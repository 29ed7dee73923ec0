/* SPDX-License-Identifier: BSD-3-Clause */
/* What network.h promises: batches, inference and calls of ready on every backend that computes on
 * the host; sizes, first weights, refusals, threads and steps without images on one. */
#include "src/base.h"
#include "trainer/backends/backends.h"
#include "trainer/network/network.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"

static const struct network_config reference = {
    .model = "unet", .backend = "ref", .base = 8, .depth = 4, .channels = 1,
    .height = 32, .width = 48, .batch_norm = BATCH_NORM_LOCAL, .threads = 1, .seed = 7};
static const struct network_config small = {
    .model = "unet", .backend = "ref", .base = 4, .depth = 2, .channels = 3,
    .height = 16, .width = 12, .batch_norm = BATCH_NORM_LOCAL, .threads = 1, .seed = 7};

/* malloc and its relatives are wrapped by the linker: see trainer/engine.inc. */
static size_t nallocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    nallocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    nallocations++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    nallocations++;
    return __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    nallocations++;
    return __real_aligned_alloc(alignment, size);
}

static struct network *create_network(const struct network_config *config)
{
    struct err e;
    struct network *n = network_create(config, &e);

    if (!n)
        bail_out("network_create: %s", e.text);
    return n;
}

/* Fills in images and masks that depend only on the stream. */
static void fill_buffers(struct network *n, const struct network_config *c, bool training,
                         int batch, uint64_t stream)
{
    size_t npixels = (size_t)batch * (size_t)c->height * (size_t)c->width;
    struct err e;
    float *input = network_input(n, training, batch, &e);
    float *target = network_target(n, training, batch, &e);

    if (!input || !target)
        bail_out("network_input: %s", e.text);
    for (size_t i = 0; i < npixels * (size_t)c->channels; i++)
        input[i] = (float)rng_uniform(1, stream, i);
    for (size_t i = 0; i < npixels; i++)
        target[i] = (float)rng_uniform(2, stream, i);
}

static struct network_step step_of(const struct network_config *c, int batch)
{
    return (struct network_step){.images = batch,
                                 .loss_divisor = (double)batch * c->height * c->width};
}

static double train_step(struct network *n, const struct network_config *c, int batch,
                         uint64_t stream)
{
    double loss = 0;
    struct err e;

    fill_buffers(n, c, true, batch, stream);
    if (network_train(n, batch, step_of(c, batch), &loss, NULL, NULL, &e) < 0)
        bail_out("network_train: %s", e.text);
    return loss;
}

static void check_size(void)
{
    struct network *n = create_network(&reference);
    struct weights *w = network_weights(n);
    size_t nstate = 0;

    for (size_t i = 0; i < w->nentries; i++)
        nstate += w->entries[i].role == WEIGHTS_STATE ? w->entries[i].count : 0;
    is_int(weights_trainable(w), 487145, "the reference U-Net has 487,145 trainable parameters");
    is_int(weights_trainable(w) + nstate, 488617, "and 488,617 with running statistics");
    struct network_config residual = {.model = "resnet44", .backend = "ref", .base = 16,
                                      .channels = 3, .classes = 10, .height = 32, .width = 32,
                                      .batch_norm = BATCH_NORM_LOCAL, .threads = 1, .seed = 7};
    struct network *a = create_network(&residual), *b;
    residual.model = "resnet44-projection";
    b = create_network(&residual);
    is_int(weights_trainable(network_weights(a)), 658586, "ResNet-44 has 658,586 parameters");
    is_int(weights_trainable(network_weights(b)), 662826, "with projections 662,826");
    is_int(network_targets(a), 1, "it gives an image one class");
    network_destroy(a);
    network_destroy(b);
    is_str(w->entries[0].name, "head.bias", "the last layer comes first");
    ok(weights_find(w, "enc1.conv1.weight") && weights_find(w, "enc1.bn2.running_var") &&
           weights_find(w, "bridge.conv2.bias") && weights_find(w, "up4.weight") &&
           weights_find(w, "dec4.bn1.weight") && weights_find(w, "head.weight"),
       "names are PyTorch-like");
    network_destroy(n);
}

static void check_initial(void)
{
    struct network_config other = small;
    struct network *a = create_network(&small), *b = create_network(&small), *c;
    const struct weights *w = network_weights(a);
    const struct weights_entry *conv = weights_find(w, "enc2.conv1.weight");
    float bound = 1 / sqrtf(4 * 9), largest = 0;

    other.seed = 8;
    c = create_network(&other);
    ok(memcmp(w->value, network_weights(b)->value, w->nparams * sizeof(float)) == 0,
       "the same seed gives the same weights");
    ok(memcmp(w->value, network_weights(c)->value, w->nparams * sizeof(float)) != 0,
       "another seed gives others");
    for (size_t i = 0; i < conv->count; i++)
        largest = fmaxf(largest, fabsf(w->value[conv->offset + i]));
    ok(largest <= bound && largest > 0.9F * bound, "convolutions fill their bound %g: %g",
       (double)bound, (double)largest);
    network_destroy(a);
    network_destroy(b);
    network_destroy(c);
}

static void refuse_config(struct network_config config, const char *word, const char *what)
{
    struct err e = {0};
    struct network *n = network_create(&config, &e);

    ok(!n && e.code == ERR_CONFIG && strstr(e.text, word), "%s is refused: %s", what, e.text);
    network_destroy(n);
}

static void check_refusals(void)
{
    struct network_config c;

    c = reference, c.height = 40;
    refuse_config(c, "multiple of 16", "a height that can't be halved");
    c = reference, c.width = 0;
    refuse_config(c, "for example 16", "a width of 0");
    c = reference, c.model = "resnet";
    refuse_config(c, "unet", "an unknown model");
    c = reference, c.backend = "abacus";
    refuse_config(c, "abacus", "an unknown backend");
    c = reference, c.base = -1;
    refuse_config(c, "base", "a base below 0");
    c = reference, c.depth = 40;
    refuse_config(c, "depth", "a depth of 40");
    c = reference, c.threads = 0;
    refuse_config(c, "threads", "no thread");
}

struct ready_log {
    const struct weights *w;
    float *seen; /* the gradient when it was reported as final */
    size_t upto;
    int ncalls;
    bool rising;
};

static int on_ready(void *arg, size_t upto, struct err *e)
{
    struct ready_log *log = arg;

    (void)e;
    log->rising = log->rising && upto > log->upto;
    memcpy(log->seen + log->upto, log->w->grad + log->upto, (upto - log->upto) * sizeof(float));
    log->upto = upto;
    log->ncalls++;
    return 0;
}

static void check_ready(const char *backend)
{
    struct network_config c = small;
    struct ready_log log = {.rising = true};
    const struct network_step step = {.images = 2, .loss_divisor = 384};
    struct network *n;
    double loss = 0;
    struct err e;

    c.backend = backend;
    n = create_network(&c);
    log.w = network_weights(n);
    log.seen = calloc(log.w->nparams, sizeof(float));
    fill_buffers(n, &c, true, 2, 0);
    ok(network_train(n, 2, step, &loss, on_ready, &log, &e) == 0 && loss > 0, "%s: a step", backend);
    ok(log.rising && log.upto == log.w->nparams && log.ncalls > 20,
       "%s: ready is called %d times, with more each time, up to all", backend, log.ncalls);
    ok(memcmp(log.seen, log.w->grad, log.w->nparams * sizeof(float)) == 0,
       "%s: what was ready did not change any more", backend);
    log.upto = 0, log.ncalls = 0;
    ok(network_train(n, 0, step, &loss, on_ready, &log, &e) == 0 && log.ncalls == 1 &&
           log.upto == log.w->nparams,
       "%s: a step without images is ready at once", backend);
    memset(log.seen, 0, log.w->nparams * sizeof(float));
    ok(memcmp(log.seen, log.w->grad, log.w->nparams * sizeof(float)) == 0,
       "%s: with zero gradients", backend);
    free(log.seen);
    network_destroy(n);
}

/* Batches of 3, 2 and 3 again give the results of three new networks, without new allocations. */
static void check_batches(const char *backend)
{
    static const int batches[] = {3, 2, 3};
    struct network_config c = small;
    struct network *n, *fresh;
    size_t before;

    c.backend = backend;
    n = create_network(&c);
    train_step(n, &c, 3, 0);
    train_step(n, &c, 2, 0);
    for (int i = 0; i < 3; i++) {
        size_t nparams = network_weights(n)->nparams;
        double loss, fresh_loss;

        before = nallocations;
        loss = train_step(n, &c, batches[i], (uint64_t)i);
        is_int(nallocations - before, 0, "%s: step %d allocates nothing", backend, i);
        fresh = create_network(&c);
        fresh_loss = train_step(fresh, &c, batches[i], (uint64_t)i);
        ok(loss == fresh_loss && memcmp(network_weights(n)->grad, network_weights(fresh)->grad,
                                        nparams * sizeof(float)) == 0,
           "%s: batch of %d as in a fresh network", backend, batches[i]);
        network_destroy(fresh);
    }
    network_destroy(n);
}

static void check_infer(const char *backend)
{
    struct network_config c = small;
    const float *logits;
    float *all, *state;
    size_t npixels = (size_t)(c.height * c.width), before, nstate;
    struct network *n;
    bool same = true;
    struct err e;

    c.backend = backend;
    n = create_network(&c);
    train_step(n, &c, 2, 0);
    nstate = network_weights(n)->nstate;
    state = malloc(nstate * sizeof *state);
    all = malloc(2 * npixels * sizeof *all);
    memcpy(state, network_weights(n)->state, nstate * sizeof *state);
    fill_buffers(n, &c, false, 2, 5);
    ok(network_infer(n, 2, &logits, &e) == 0, "%s: inference", backend);
    memcpy(all, logits, 2 * npixels * sizeof *all);
    fill_buffers(n, &c, false, 1, 5); /* the first of the two images */
    ok(network_infer(n, 1, &logits, &e) == 0, "%s: inference of one image", backend);
    for (size_t i = 0; i < npixels; i++)
        same = same && fabsf(logits[i] - all[i]) <= 1e-5F;
    ok(same, "%s: an image's logits do not depend on the rest of its batch", backend);
    ok(memcmp(state, network_weights(n)->state, nstate * sizeof *state) == 0,
       "%s: inference leaves the running statistics alone", backend);
    before = nallocations;
    fill_buffers(n, &c, false, 2, 5);
    ok(network_infer(n, 2, &logits, &e) == 0 && nallocations == before,
       "%s: a second inference allocates nothing", backend);
    free(state);
    free(all);
    network_destroy(n);
}

static void check_threads(void)
{
    struct network_config one = small, three = small;
    struct network *a, *b;

    three.threads = 3;
    a = create_network(&one);
    b = create_network(&three);
    ok(train_step(a, &one, 2, 0) == train_step(b, &three, 2, 0) &&
           memcmp(network_weights(a)->grad, network_weights(b)->grad,
                  network_weights(a)->nparams * sizeof(float)) == 0,
       "ref: 3 threads give the same bits as 1");
    network_destroy(a);
    network_destroy(b);
}

static void check_plan(void)
{
    struct network_config c = small;
    struct network *a = create_network(&small), *b;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    c.backend = backends[0]->name;
    b = create_network(&c);
    train_step(b, &c, 3, 0);
    ok(network_plan_hash(a) == network_plan_hash(b),
       "the plan hash does not depend on backend and batch");
    network_print_times(b, &(struct profile_peak){.of = "it"}, out);
    fclose(out);
    ok(strstr(text, "conv2d_grad_weights") && strstr(text, "3x"), "the ops are printed");
    free(text);
    network_destroy(b);
    c.base = 5;
    b = create_network(&c);
    ok(network_plan_hash(a) != network_plan_hash(b), "it depends on the model");
    network_destroy(a);
    network_destroy(b);
}

/* What add_others() counts, which takes the place of a sum with other replicas that have all pixels
 * of the step. */
struct others {
    int nsums, nwrong; /* number of sums; number of this replica's values that are not 0 */
};

static int add_others(void *arg, double *values, size_t n, struct err *e)
{
    struct others *o = arg;

    (void)e;
    o->nsums++;
    for (size_t i = 0; i < n; i++) {
        o->nwrong += values[i] != 0;
        values[i] = i + 1 < n ? 1 : 64;
    }
    return 0;
}

static int note_ready(void *arg, size_t upto, struct err *e)
{
    (void)e;
    *(size_t *)arg = upto;
    return 0;
}

static void check_sync_without_images(void)
{
    struct network_config c = small;
    struct others others = {0};
    struct network *n;
    struct weights *w;
    size_t ready = 0, nwrong = 0;
    double loss = 0;
    struct err e = {0};
    float before;

    c.batch_norm = BATCH_NORM_SYNC;
    n = create_network(&c);
    w = network_weights(n);
    network_set_sum(n, add_others, &others);
    w->grad[0] = 1;
    before = w->state[0];
    ok(network_train(n, 0, (struct network_step){.images = 1, .loss_divisor = 100}, &loss,
                     note_ready,
                     &ready, &e) == 0,
       "a step without images under synchronised batch norm: %s", e.text);
    for (size_t i = 0; i < w->nparams; i++)
        nwrong += w->grad[i] != 0;
    ok(others.nsums > 0 && others.nsums % 2 == 0 && others.nwrong == 0,
       "meets the others %d times with sums of nothing", others.nsums);
    ok(nwrong == 0 && loss == 0 && ready == w->nparams, "has no gradients and no loss");
    ok(w->state[0] != before, "and learns the others' statistics");
    network_destroy(n);
}

int main(void)
{
    check_size();
    check_initial();
    check_refusals();
    check_threads();
    check_plan();
    check_sync_without_images();
    for (size_t i = 0; backends[i] && !backends[i]->device; i++) {
        check_ready(backends[i]->name);
        check_batches(backends[i]->name);
        check_infer(backends[i]->name);
    }
    return done_testing();
}
