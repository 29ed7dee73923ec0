/* SPDX-License-Identifier: BSD-3-Clause */
/* Trains whole networks on the CUDA backend and on the reference, and compares the weights (in some
 * parts losses, counts or errors): queues, slots, recorded programs and moving arenas must not
 * change results. Together with emulated.c the device is emulated, with results as late as a GPU's
 * may be.
 *
 *   network.t [--list | PART]      all checks; lists the parts of them; one part */
#include "src/base.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/backends/backends.h"
#include "trainer/metric/metric.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"
#include "trainer/passes/passes.h"

static const struct network_config small = {
    .model = "unet", .backend = "cuda", .base = 4, .depth = 1, .channels = 3, .height = 16,
    .width = 12, .batch_norm = BATCH_NORM_LOCAL, .threads = 1, .seed = 7};

static int only_part = -1; /* of the checks, from 1; negative: all */
static int nparts;

/* Returns whether the next part is to be checked. */
static bool is_part(void)
{
    nparts++;
    return only_part < 0 || nparts == only_part;
}

#define PART(check)    \
    do {               \
        if (is_part()) \
            check;     \
    } while (0)

static int list_parts(void)
{
    for (int i = 1; i <= nparts; i++)
        printf("%d\n", i);
    return 0;
}

/* A network in training, and the sum of its losses. */
struct training {
    struct network *network;
    struct network_config config;
    struct optim *optim;
    double clip; /* as train.clip_norm */
    double rate;
    double loss;
};

/* Biases begin with 0, and an error in adding them would not be noticed. */
static void fill_biases(struct weights *w)
{
    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];

        if (entry->role == WEIGHTS_PARAM && strstr(entry->name, ".bias"))
            for (size_t k = 0; k < entry->count; k++)
                w->value[entry->offset + k] = 0.05F * (float)rng_uniform(3, i, k);
    }
}

/* A tensor of zeros has no norm for LARS and LAMB to divide by. */
static void clear_head(struct weights *w)
{
    const struct weights_entry *entry = weights_find(w, "head.weight");

    memset(w->value + entry->offset, 0, entry->count * sizeof *w->value);
}

static double penalty; /* l2 of all weights in start, if above 0 */

static void start(struct training *t, struct network_config config, const char *backend,
                  enum optim_kind kind)
{
    struct err e;

    config.backend = backend;
    *t = (struct training){.config = config, .network = network_create(&config, &e), .rate = 0.01};
    if (!t->network)
        bail_out("%s: %s", backend, e.text);
    struct weights *w = network_weights(t->network);
    fill_biases(w);
    if (kind == OPTIM_LARS || kind == OPTIM_LAMB)
        clear_head(w);
    for (size_t i = 0; i < w->nentries && penalty > 0; i++)
        w->entries[i].l2 = penalty;
    t->optim = optim_create(&(struct optim_config){.kind = kind, .momentum = 0.9,
                                                   .weight_decay = 0.01,
                                                   .uncorrected = true,
                                                   .scaled = config.dtype == DTYPE_F16},
                            network_weights(t->network), &e);
    if (!t->optim || weights_push(w, &e))
        bail_out("%s", e.text);
}

/* Copies to the device what the host has of weights and optimizer, and back. */
static void push(struct training *t)
{
    struct err e;

    if (weights_push(network_weights(t->network), &e) || optim_push(t->optim, &e))
        bail_out("%s", e.text);
}

static void finish(struct training *t)
{
    struct weights *w = network_weights(t->network);
    struct err e;

    if (network_wait(t->network, &t->loss, &e) || weights_pull(w, &e) ||
        mirror_pull(&w->grads, &e) || optim_pull(t->optim, &e))
        bail_out("%s", e.text);
}

static void stop(struct training *t)
{
    optim_destroy(t->optim);
    network_destroy(t->network);
}

static void fill(struct training *t, bool training, int batch, uint64_t stream)
{
    const struct network_config *c = &t->config;
    size_t pixels = (size_t)batch * (size_t)c->height * (size_t)c->width;
    struct err e;
    float *input = network_input(t->network, training, batch, &e);
    float *target = input ? network_target(t->network, training, batch, &e) : NULL;

    if (!target)
        bail_out("%s", e.text);
    for (size_t i = 0; i < pixels * (size_t)c->channels; i++)
        input[i] = (float)rng_uniform(1, stream, i);
    for (size_t i = 0; i < (size_t)batch * network_targets(t->network); i++)
        target[i] = floorf((float)(c->classes > 1 ? c->classes : 2) *
                           (float)rng_uniform(2, stream, i));
}

static void step(struct training *t, int batch, uint64_t stream)
{
    struct device_update update;
    double targets = (double)batch * (double)network_targets(t->network);
    struct network_step whole = {
        .images = batch, .loss_divisor = targets, .noise = 5, .first = 3 * stream};
    struct err e;

    fill(t, true, batch, stream);
    if (t->optim->device) {
        optim_plan(t->optim, network_weights(t->network), t->rate, t->clip, &update);
        whole.update = &update;
    }
    whole.scaling = t->optim->scaling;
    if (network_train(t->network, batch, whole, &t->loss, NULL, NULL, &e))
        bail_out("%s", e.text);
    if (!t->optim->device)
        optim_step(t->optim, network_weights(t->network), t->rate, t->clip);
}

static double difference(const float *a, const float *b, size_t n)
{
    double largest = 0, scale = 1e-30;

    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);

        largest = isfinite(d) ? fmax(largest, d) : INFINITY;
        scale = fmax(scale, fabs((double)b[i]));
    }
    return largest / scale;
}

static float *copy_weights(const struct training *t)
{
    const struct weights *w = network_weights(t->network);
    float *copy = malloc(w->nparams * sizeof *copy);

    if (!copy)
        bail_out("out of memory");
    return memcpy(copy, w->value, w->nparams * sizeof *copy);
}

/* Returns the largest difference of the weights w and r, relative to the largest change of r from
 * `first`: tensor by tensor, but all vectors together, as some change by rounding errors only. */
static double difference_of_changes(const struct weights *w, const struct weights *r,
                                    const float *first)
{
    double worst = 0, vectors[2] = {0, 1e-30};

    for (size_t i = 0; i < r->nentries; i++) {
        const struct weights_entry *entry = &r->entries[i];
        double own[2] = {0, 1e-30}, *largest = entry->ndim > 1 ? own : vectors;

        if (entry->role != WEIGHTS_PARAM)
            continue;
        for (size_t k = entry->offset; k < entry->offset + entry->count; k++) {
            largest[0] = fmax(largest[0], fabs((double)w->value[k] - (double)r->value[k]));
            largest[1] = fmax(largest[1], fabs((double)r->value[k] - (double)first[k]));
        }
        worst = fmax(worst, own[0] / own[1]);
    }
    return fmax(worst, vectors[0] / vectors[1]);
}

static double compare_logits(struct training *a, struct training *b)
{
    const float *x, *y;
    struct err e;

    fill(a, false, 1, 99);
    fill(b, false, 1, 99);
    if (network_infer(a->network, 1, &x, &e) || network_infer(b->network, 1, &y, &e))
        bail_out("%s", e.text);
    return difference(x, y, network_targets(a->network) *
                                (size_t)(a->config.classes ? a->config.classes : 1));
}

/* A batch of 2 runs unrecorded, is recorded and replayed; 3 images move the arena, which
 * invalidates the recording; 1 image uses the larger arena. */
static void check_clipped(struct network_config config, enum optim_kind kind, double clip,
                          const char *what)
{
    static const int batches[] = {2, 2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 2};
    struct training got, want;
    double coarse = config.dtype == DTYPE_F32 && !config.tf32 ? 1
                    : config.dtype == DTYPE_BF16              ? 50
                                                              : 10;

    start(&got, config, "cuda", kind);
    if (got.optim->scaled)
        got.optim->scaled->factor = 1024; /* with which no step overflows */
    push(&got);
    config.dtype = DTYPE_F32;
    config.tf32 = false;
    start(&want, config, "ref", kind);
    float *first = copy_weights(&want);
    got.clip = want.clip = clip;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        step(&got, batches[i], i);
        step(&want, batches[i], i);
    }
    finish(&got);
    const struct weights *w = network_weights(got.network), *r = network_weights(want.network);
    double weights = difference(w->value, r->value, r->nparams);
    double state = r->nstate ? difference(w->state, r->state, r->nstate) : 0;
    double changes = difference_of_changes(w, r, first);
    free(first);
    ok(weights < 2e-3 * coarse && changes < 5e-3 * coarse && state < 1e-3 * coarse,
       "%s: weights as the reference: %.1e, their changes %.1e, state %.1e", what, weights, changes,
       state);
    ok(fabs(got.loss / want.loss - 1) < 1e-4 * coarse, "%s: loss as the reference: %g, %g", what,
       got.loss, want.loss);
    double logits = compare_logits(&got, &want);
    ok(logits < 5e-3 * coarse, "%s: logits as the reference: %.1e", what, logits);
    step(&got, 2, 50);
    step(&want, 2, 50);
    ok(compare_logits(&got, &want) < 5e-3 * coarse, "%s: and after a step more", what);
    stop(&got);
    stop(&want);
}

static void check_training(struct network_config config, enum optim_kind kind, const char *what)
{
    check_clipped(config, kind, 0, what);
}

/* Returns how many lines of the plan begin with the word: one for each op, and one for the sum of
 * its kind. */
static int count_lines(struct network *n, const char *word)
{
    char *plan = NULL;
    size_t size;
    FILE *out = open_memstream(&plan, &size);
    int count = 0;

    if (!out)
        bail_out("out of memory");
    network_print_times(n, &(struct profile_peak){.of = "it"}, out);
    fclose(out);
    for (const char *p = plan; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        count += strncmp(p, word, strlen(word)) == 0;
    }
    free(plan);
    return count;
}

/* With 16 bits only images, logits and their gradients are cast, and the first logits and loss are
 * as in floats. */
static void check_half(struct network_config config, enum dtype dtype, int ncasts)
{
    struct training half, wide;

    start(&wide, config, "ref", OPTIM_SGD);
    config.dtype = dtype;
    start(&half, config, "cuda", OPTIM_SGD);
    double logits = compare_logits(&half, &wide);
    step(&half, 2, 0);
    step(&wide, 2, 0);
    finish(&half);
    is_int(count_lines(half.network, "cast "), ncasts, "%s in %s: casts", config.model,
           precision_name(dtype));
    ok(fabs(half.loss / wide.loss - 1) < 0.02 && logits < (dtype == DTYPE_BF16 ? 0.02 : 4e-3),
       "%s in %s: loss as in floats: %g, %g; logits: %.1e", config.model, precision_name(dtype),
       half.loss, wide.loss, logits);
    stop(&half);
    stop(&wide);
}

/* The other models have strides, projections, odd sizes, dropout and dense layers. */
static void check_models(void)
{
    static const struct {
        const char *name;
        int channels, classes, height, width;
        int ncasts; /* and two lines of sums, of training and inference */
    } models[] = {{"resnet20", 3, 4, 10, 8, 7}, {"resnet20-projection", 3, 4, 8, 8, 7},
                  {"chips", 3, 2, 21, 18, 7}, {"fcnn", 4, 2, 16, 32, 5}};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!is_part())
            continue;
        struct network_config config = small;

        config.model = models[i].name;
        config.depth = 0;
        config.channels = models[i].channels;
        config.classes = models[i].classes;
        config.height = models[i].height;
        config.width = models[i].width;
        /* Without clipping the residual ones diverge, and rounding decides how. */
        check_clipped(config, OPTIM_SGD, 0.3, models[i].name);
        check_half(config, DTYPE_BF16, models[i].ncasts);
        check_half(config, DTYPE_F16, models[i].ncasts);
    }
}

/* The reference rounds the same tensors; rounding elsewhere shows in the last of 8 bits. */
static void check_bf16(void)
{
    struct network_config config = small;
    struct training cuda, ref;

    config.dtype = DTYPE_BF16;
    config.base = 8;
    config.depth = 2;
    start(&cuda, config, "cuda", OPTIM_SGD);
    start(&ref, config, "ref", OPTIM_SGD);
    for (uint64_t i = 0; i < 4; i++) {
        step(&cuda, 2, i);
        step(&ref, 2, i);
    }
    finish(&cuda);
    double error = compare_logits(&cuda, &ref);
    is_int(count_lines(cuda.network, "cast "), 7, "bfloat16: only images and logits are cast");
    ok(count_lines(cuda.network, "fold_norm") && count_lines(cuda.network, "conv2d_relu ") &&
           !count_lines(cuda.network, "batch_norm_infer"),
       "bfloat16: at inference norms are part of the weights, and ReLUs of the convolutions");
    ok(error < 0.05, "bfloat16: logits as the reference's: %.1e", error);
    ok(fabs(cuda.loss / ref.loss - 1) < 2e-3, "bfloat16: losses: %.1e", cuda.loss / ref.loss - 1);
    stop(&cuda);
    stop(&ref);
}

static void infer_two(struct training *t)
{
    const float *logits;
    struct err e;

    fill(t, false, 2, 98);
    if (network_infer(t->network, 2, &logits, &e))
        bail_out("%s", e.text);
}

static void halve(struct training *t)
{
    struct weights *w = network_weights(t->network);

    finish(t);
    for (size_t i = 0; i < w->nparams; i++)
        w->value[i] *= 0.5F;
    push(t);
}

/* What inference keeps of the weights is made again after a step, after the host has changed them,
 * and after another graph has used its memory. */
static void check_kept(enum dtype dtype, double tolerance)
{
    struct network_config config = small;
    struct training cuda, ref;
    double error = 0;

    config.dtype = dtype;
    config.base = 8;
    start(&cuda, config, "cuda", OPTIM_SGD);
    start(&ref, config, "ref", OPTIM_SGD);
    for (uint64_t i = 0; i < 4; i++) {
        if (i == 1 || i == 3) {
            halve(&cuda);
            halve(&ref);
        } else {
            step(&cuda, 2, i);
            step(&ref, 2, i);
        }
        for (int k = 0; k < 4; k++)
            error = fmax(error, compare_logits(&cuda, &ref));
        infer_two(&cuda);
        error = fmax(error, compare_logits(&cuda, &ref));
    }
    ok(error < tolerance, "%s: inference has the weights as they are: %.1e", precision_name(dtype),
       error);
    stop(&cuda);
    stop(&ref);
}

static const struct device_ops *ops_of(const struct training *t, struct device **d)
{
    return network_device_ops(t->network, d);
}

/* A sum of two replicas with the same values. */
struct doubled {
    const struct device_ops *ops; /* NULL: the values are in the host's memory */
    struct device *device;
    double *host; /* pinned */
    int nsums;
};

#define MOST_SUMS 1024 /* numbers of a sum */

static int double_it(void *arg, double *values, size_t n, struct err *e)
{
    struct doubled *d = arg;
    double *host = d->ops ? d->host : values;
    size_t nbytes = n * sizeof *values;

    if (n > MOST_SUMS)
        bail_out("a sum of %zu numbers", n);
    if (d->ops && (d->ops->copy(d->device, host, values, nbytes, e) || d->ops->drain(d->device, e)))
        return -1;
    for (size_t i = 0; i < n; i++)
        host[i] *= 2;
    d->nsums++;
    return d->ops && (d->ops->copy(d->device, values, host, nbytes, e) ||
                      d->ops->drain(d->device, e)) ? -1 : 0;
}

/* Doubles sums and pixels, as a second replica with the same images would. */
static void check_sync(enum dtype dtype, double tolerance)
{
    struct network_config config = small;
    struct training got, want;
    struct doubled on_device = {.nsums = 0}, on_host = {.nsums = 0};
    struct err e;

    setenv("UNET_CAPTURE", "off", 1); /* sums that wait for the queue cannot be captured */
    config.batch_norm = BATCH_NORM_SYNC;
    config.dtype = dtype;
    config.base = dtype == DTYPE_F32 ? config.base : 8;
    start(&got, config, "cuda", OPTIM_SGD);
    start(&want, config, "ref", OPTIM_SGD);
    on_device.ops = ops_of(&got, &on_device.device);
    on_device.host = on_device.ops->alloc(on_device.device, DEVICE_HOST,
                                          MOST_SUMS * sizeof *on_device.host, &e);
    if (!on_device.host)
        bail_out("%s", e.text);
    network_set_link(got.network, &(struct network_link){.sum = double_it, .arg = &on_device});
    network_set_sum(want.network, double_it, &on_host);
    for (uint64_t i = 0; i < 4; i++) {
        step(&got, 2, i);
        step(&want, 2, i);
    }
    finish(&got);
    const struct weights *w = network_weights(got.network), *r = network_weights(want.network);
    double weights = difference(w->value, r->value, r->nparams);
    ok(weights < tolerance, "synchronised batch norm: weights as the reference: %.1e", weights);
    is_int(on_device.nsums, on_host.nsums, "and as many sums");
    on_device.ops->free(on_device.device, DEVICE_HOST, on_device.host);
    unsetenv("UNET_CAPTURE");
    stop(&got);
    stop(&want);
}

static size_t reported;

static int note_ready(void *arg, size_t upto, struct err *e)
{
    (void)arg;
    (void)e;
    reported = upto;
    return 0;
}

static void check_ready(void)
{
    struct network_step one = {.images = 1, .loss_divisor = 16 * 12};
    struct training t;
    struct err e;

    start(&t, small, "cuda", OPTIM_ADAM);
    const struct weights *w = network_weights(t.network);
    for (int images = 1; images >= 0; images--) {
        fill(&t, true, 1, 3);
        reported = 0;
        if (network_train(t.network, images, one, &t.loss, note_ready, NULL, &e) ||
            network_wait(t.network, &t.loss, &e))
            bail_out("%s", e.text);
        finish(&t);
        ok(reported == w->nparams && t.loss > 0 && (*(float *)w->grads.host != 0) == (images > 0),
           "%s: gradients are reported as ready", images ? "an image" : "no images: zeros");
    }
    stop(&t);
}

/* A recorded step gives the same bits as an unrecorded one, by engines that do so at all. */
static void check_recorded(void)
{
    struct network_config config = small;
    struct training recorded, plain;

    config.deterministic = true;
    setenv("UNET_CAPTURE", "off", 1);
    start(&plain, config, "cuda", OPTIM_ADAM);
    unsetenv("UNET_CAPTURE");
    start(&recorded, config, "cuda", OPTIM_ADAM);
    for (uint64_t i = 0; i < 6; i++) {
        step(&recorded, 2, i);
        step(&plain, 2, i);
    }
    finish(&recorded);
    finish(&plain);
    const struct weights *w = network_weights(recorded.network),
                         *r = network_weights(plain.network);
    ok(memcmp(w->value, r->value, w->nparams * sizeof *w->value) == 0 &&
           memcmp(w->state, r->state, w->nstate * sizeof *w->state) == 0 &&
           recorded.loss == plain.loss, "recorded steps give the bits of plain ones");
    stop(&recorded);
    stop(&plain);
}

/* Loss scaling in fp16: a step that overflows is skipped, many good ones double the factor, and
 * neither weights nor norms see it. */
static void check_scaling(void)
{
    struct network_config config = small;
    struct training t;

    config.dtype = DTYPE_F16;
    start(&t, config, "cuda", OPTIM_ADAM);
    struct device_scaling *s = t.optim->scaled;
    const struct weights *w = network_weights(t.network);
    step(&t, 2, 0);
    finish(&t);
    ok(s->factor == DEVICE_SCALING_BEGIN && s->good == 1 && s->left_out == 0,
       "a good step is counted");
    float *before = malloc(w->nparams * sizeof *before);
    memcpy(before, w->value, w->nparams * sizeof *before);
    s->factor = 1e30F;
    push(&t);
    for (uint64_t i = 1; i < 4; i++)
        step(&t, 2, i); /* the last two are recorded */
    finish(&t);
    ok(memcmp(before, w->value, w->nparams * sizeof *before) == 0,
       "steps that overflow change nothing");
    ok(s->factor == 1e30F / 8 && s->good == 0 && s->left_out == 3, "and halve the factor: %g, %d",
       (double)s->factor, s->left_out);
    *s = (struct device_scaling){.factor = 1024, .good = DEVICE_SCALING_STEPS - 1};
    push(&t);
    step(&t, 2, 5);
    finish(&t);
    ok(s->factor == 2048 && s->good == 0 &&
           memcmp(before, w->value, w->nparams * sizeof *before) != 0,
       "after many good ones it is doubled");
    free(before);
    stop(&t);
}

/* Returns the length of a step of SGD whose clipped gradients were computed with that factor. */
static double clipped_step(float factor)
{
    struct network_config config = small;
    struct training t;
    double sum = 0;

    config.dtype = DTYPE_F16;
    start(&t, config, "cuda", OPTIM_SGD);
    t.clip = 0.01;
    t.optim->scaled->factor = factor;
    push(&t);
    const struct weights *w = network_weights(t.network);
    float *before = copy_weights(&t);
    step(&t, 2, 0);
    finish(&t);
    for (size_t i = 0; i < w->nparams; i++)
        sum += pow((double)w->value[i] - (double)before[i], 2);
    free(before);
    stop(&t);
    return sqrt(sum);
}

static void check_scaled_clip(void)
{
    double a = clipped_step(1024), b = clipped_step(8192);

    ok(a > 0 && fabs(a / b - 1) < 0.02, "clipping does not depend on the loss's factor: %g, %g", a,
       b);
}

/* Runs steps 0, 1, 3, 4 and 5, each with its own rate, and with `overflows` between them step 2,
 * which does. */
static void take_steps(struct training *t, bool overflows)
{
    struct device_scaling *s = t->optim->scaled;
    struct err e;

    for (uint64_t i = 0; i < 6; i++) {
        t->rate = 0.01 / (double)(i + 1);
        if (i != 2)
            step(t, 2, i);
        if (i != 2 || !overflows)
            continue;
        finish(t);
        float factor = s->factor;
        s->factor = 1e30F;
        push(t);
        step(t, 2, i);
        finish(t);
        s->factor = factor;
        push(t);
    }
    finish(t);
    if (optim_settle(t->optim, &e))
        bail_out("%s", e.text);
}

/* A skipped step does not change the count and the rates of an optimizer. */
static void check_left_out(void)
{
    static const enum optim_kind kinds[] = {OPTIM_ADAM, OPTIM_ADAMW, OPTIM_SGD, OPTIM_LARS,
                                            OPTIM_LAMB};
    struct network_config config = small;

    config.dtype = DTYPE_F16;
    config.deterministic = true; /* bits are compared */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct training got, want;

        start(&got, config, "cuda", kinds[i]);
        start(&want, config, "cuda", kinds[i]);
        take_steps(&got, true);
        take_steps(&want, false);
        const struct weights *w = network_weights(got.network), *r = network_weights(want.network);
        ok(got.optim->scaled->left_out == 1 && want.optim->scaled->left_out == 0 &&
               memcmp(w->value, r->value, w->nparams * sizeof *w->value) == 0,
           "optimizer %d: a step left out is as if it had not been: %.1e", (int)kinds[i],
           difference(w->value, r->value, r->nparams));
        is_int(got.optim->steps, 5, "optimizer %d: five steps were taken", (int)kinds[i]);
        ok(got.optim->rate > 0 && got.optim->rate == want.optim->rate,
           "the rate is the last one's");
        stop(&got);
        stop(&want);
    }
}

/* Fills in the same image each time, with a pixel that does not count. Returns its target. */
static const float *fill_holed(struct training *t, bool training)
{
    struct err e;

    fill(t, training, 1, 7);
    float *target = network_target(t->network, training, 1, &e);
    target[3] = -1;
    return target;
}

static double loss_of(const struct training *t, const struct image_loss *l)
{
    return image_loss_mean(l, t->config.loss != LOSS_DICE, t->config.loss != LOSS_CE);
}

/* Changes the biases so that the mean logit of each class is 0, and the network predicts several
 * classes. */
static void center_logits(struct training *t, int classes, size_t pixels)
{
    struct weights *w = network_weights(t->network);
    float *bias = w->value + weights_find(w, "head.bias")->offset;
    const float *logits;
    struct err e;

    fill_holed(t, false);
    if (network_infer(t->network, 1, &logits, &e))
        bail_out("%s", e.text);
    for (size_t i = 0; i < (size_t)classes * pixels; i++)
        bias[i % (size_t)classes] -= logits[i] / (float)pixels;
    push(t);
}

/* The loss counts the same scores on the device as the host does from the logits. */
static void check_counts(struct network_config config, const char *what)
{
    int classes = config.classes ? config.classes : 1;
    size_t size = score_size(classes), pixels = (size_t)config.height * (size_t)config.width;
    int64_t want[64] = {0};
    struct image_loss loss = {0};
    struct training t;
    struct device *d;
    const float *logits;
    struct err e;

    config.batch_norm = BATCH_NORM_NONE; /* so that training has the same logits */
    start(&t, config, "cuda", OPTIM_SGD);
    const struct device_ops *ops = ops_of(&t, &d);
    struct mirror scores, losses;
    float *target = malloc(pixels * sizeof *target);
    if (mirror_open(&scores, ops, d, 2 * size * sizeof *want, &e) ||
        mirror_open(&losses, ops, d, sizeof loss, &e) || !target)
        bail_out("out of memory");
    const int64_t *score = scores.host;
    const struct image_loss *got = losses.host;

    center_logits(&t, classes, pixels);
    memcpy(target, fill_holed(&t, false), pixels * sizeof *target);
    if (network_infer(t.network, 1, &logits, &e))
        bail_out("%s", e.text);
    score_add(want, classes, logits, target, pixels);
    const struct loss_terms terms = model_loss(&config);
    image_loss_add(&loss, classes, &terms, logits, target, pixels);
    for (int i = 0; i < 3; i++) { /* the last one is recorded */
        fill_holed(&t, false);
        struct device_counts counts = {scores.there, losses.there};
        if (network_measure(t.network, 1, counts, &e))
            bail_out("%s", e.text);
    }
    finish(&t);
    if (mirror_pull(&scores, &e) || mirror_pull(&losses, &e))
        bail_out("%s", e.text);
    int npredicted = 0;
    for (int c = 0; c < classes; c++)
        npredicted += score_class(want, c)->pred > 0;
    ok(classes == 1 || npredicted > classes / 2, "%s: %d of %d classes are predicted", what,
       npredicted, classes);
    for (size_t i = 0; i < size; i++)
        want[i] *= 3;
    ok(memcmp(score, want, size * sizeof *score) == 0, "%s: scores as the host's", what);
    ok(got->images == 3 && fabs(loss_of(&t, got) / loss_of(&t, &loss) - 1) < 1e-5 && t.loss == 0,
       "%s: losses as the host's: %g, %g", what, loss_of(&t, got), loss_of(&t, &loss));

    fill_holed(&t, true);
    struct network_step step = {.images = 1, .loss_divisor = (double)pixels,
                                .score = (int64_t *)scores.there + size};
    if (network_train(t.network, 1, step, &t.loss, NULL, NULL, &e))
        bail_out("%s", e.text);
    finish(&t);
    if (mirror_pull(&scores, &e))
        bail_out("%s", e.text);
    for (size_t i = 0; i < size; i++)
        want[i] /= 3;
    ok(memcmp(score + size, want, size * sizeof *score) == 0, "%s: so in training", what);
    free(target);
    mirror_close(&scores);
    mirror_close(&losses);
    stop(&t);
}

static void check_all_counts(void)
{
    struct network_config config = small;

    check_counts(config, "binary cross entropy");
    config.dtype = DTYPE_BF16;
    config.loss = LOSS_CE_DICE;
    config.class_weights = (const float[]){1, 3};
    check_counts(config, "with Dice and weights, bf16");
    config.loss = LOSS_DICE;
    check_counts(config, "Dice, bf16");
    config.dtype = DTYPE_F32;
    config.classes = 7;
    config.class_weights = (const float[]){1, 2, 0.5F, 1, 3, 1, 0.25F};
    check_counts(config, "seven classes, Dice");
    config.weighs_dice = true;
    check_counts(config, "seven classes, Dice with weights");
    config.loss = LOSS_CE;
    check_counts(config, "seven classes");
    config.loss = LOSS_CE_DICE;
    check_counts(config, "seven classes, both");
    config.focal_gamma = 2;
    config.tversky[0] = 0.3;
    config.tversky[1] = 0.7;
    check_counts(config, "seven classes, focal and Tversky");
    config.classes = 1;
    check_counts(config, "one class, focal and Tversky");
}

/* A replica without others, which queues its own work behind the gradients. */
struct alone {
    const struct device_ops *ops;
    struct device *device;
    const struct weights *weights;
    float *sum; /* of the gradients of all runs */
    double square;
    int nsums, ndone;
};

static int sum_alone(void *arg, double *values, size_t n, struct err *e)
{
    (void)values;
    (void)n;
    (void)e;
    ((struct alone *)arg)->nsums++;
    return 0;
}

static void note_done(void *arg, const struct device_sums *sums)
{
    ((struct alone *)arg)->square = sums->own_square;
    ((struct alone *)arg)->ndone++;
}

static int queue_gradients(void *arg, size_t upto, struct err *e)
{
    struct alone *l = arg;

    if (upto < l->weights->nparams)
        return 0;
    if (!l->ops->branch(l->device, DEVICE_BESIDE, e))
        return -1;
    l->ops->add(l->device, l->sum, l->weights->grad, upto);
    l->ops->square(l->device, l->weights->grad, upto, true);
    return l->ops->merge(l->device, DEVICE_BESIDE, e);
}

/* A device divides by the sum of the pixels' weights itself, and what is queued behind the
 * gradients is replayed with them. */
static void check_alone(enum dtype dtype)
{
    struct network_step step = {.images = 2, .loss_divisor = 100, .sums_loss_divisor = true};
    struct network_config config = small;
    struct training got, want;
    struct alone l = {.nsums = 0};
    double factor = 1, square = 0, differ = 0;
    struct err e;

    config.dtype = dtype;
    start(&got, config, "cuda", OPTIM_SGD);
    start(&want, config, "cuda", OPTIM_SGD);
    step.scaling = got.optim->scaling;
    if (step.scaling)
        factor = got.optim->scaled->factor = 1024;
    push(&got);
    l.ops = ops_of(&got, &l.device);
    l.weights = network_weights(got.network);
    size_t n = l.weights->nparams;
    struct mirror sums;
    if (mirror_open(&sums, l.ops, l.device, n * sizeof *l.sum, &e))
        bail_out("%s", e.text);
    l.sum = sums.there;
    network_set_link(got.network,
                     &(struct network_link){.sum = sum_alone, .done = note_done, .arg = &l});
    for (int i = 0; i < 4; i++) { /* the last two are replayed */
        fill(&got, true, 2, 3);
        if (network_train(got.network, 2, step, &got.loss, queue_gradients, &l, &e))
            bail_out("%s", e.text);
    }
    finish(&got);
    if (mirror_pull(&sums, &e))
        bail_out("%s", e.text);
    fill(&want, true, 2, 3);
    step.sums_loss_divisor = false;
    if (network_train(want.network, 2, step, &want.loss, NULL, NULL, &e))
        bail_out("%s", e.text);
    finish(&want);
    const float *grad = network_weights(want.network)->grads.host, *own = l.weights->grads.host;
    for (size_t i = 0; i < n; i++) {
        differ = fmax(differ, fabs((double)((float *)sums.host)[i] - 4 * (double)grad[i]) / factor);
        square += pow((double)grad[i] / factor, 2);
    }
    ok(fabs(l.square / square - 1) < 1e-5,
       "%s: the squared norm of the gradients, without the loss's factor: %g, %g",
       precision_name(dtype), l.square, square);
    ok(difference(own, grad, n) < 1e-6 && grad[0] != 0,
       "the device divides by the sum of weights: %.1e",
       difference(own, grad, n));
    ok(differ < 1e-6, "four runs add up their gradients: %.1e", differ);
    ok(fabs(got.loss / want.loss / 4 - 1) < 1e-6 && l.ndone == 4 && l.nsums >= 1,
       "and their losses: %g of %g", got.loss, want.loss);
    mirror_close(&sums);
    stop(&got);
    stop(&want);
}

static void check_types(void)
{
    struct network_config config = small;

    config.dtype = DTYPE_BF16;
    check_training(config, OPTIM_SGD, "bf16");
    check_clipped(config, OPTIM_SGD, 0.02, "bf16, clipped");
    config.dtype = DTYPE_F16;
    check_clipped(config, OPTIM_SGD, 0.02, "fp16, clipped");
    check_training(config, OPTIM_LARS, "fp16, LARS");
    config.dtype = DTYPE_F32;
    config.tf32 = true;
    check_training(config, OPTIM_SGD, "tf32");
}

/* Batches that need more memory than the GPU has, or than any. */
static void check_room(void)
{
    struct network_config config = small;
    struct err e = {0};

    config.height = config.width = 4096;
    config.base = 16;
    struct network *n = network_create(&config, &e);
    if (!n)
        bail_out("%s", e.text);
    ok(network_check_room(n, 1000, 0, 1, &e) && strstr(e.text, "what the GPU has left"),
       "too large a batch, seen beforehand: %s", e.text);
    ok(!network_input(n, true, 1000, &e) && e.code == ERR_CONFIG, "too large a batch: %s", e.text);
    network_destroy(n);
    config.height = config.width = 512;
    n = network_create(&config, &e);
    if (!n)
        bail_out("%s", e.text);
    const char *fits = NULL;
    for (int batch = 8; batch <= 2048 && !fits; batch *= 2)
        if (!network_input(n, true, batch, &e))
            fits = strstr(e.text, "a batch of ");
    fits = fits ? strstr(fits + 1, "a batch of ") : NULL;
    if (fits)
        ok(network_input(n, true, atoi(fits + strlen("a batch of ")), &e) != NULL,
           "memory is predicted, and the batch that is named fits: %s", e.text);
    else
        ok(strstr(e.text, "smaller batch") != NULL, "tensors are too large first: %s", e.text);
    network_destroy(n);
}

static void need_device(void)
{
    struct err e;
    struct device *d = backend_find("cuda")->device->open(0, &e);

    if (!d)
        skip_all(e.text);
    backend_find("cuda")->device->close(d);
}

static void remove_cache(const char *folder)
{
    static const char *const names[] = {
        "/unetctl/cudnn-choices", "/unetctl/cudnn-choices.lock", "/unetctl", ""};
    char path[128];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s%s", folder, names[i]);
        (void)remove(path);
    }
}

int main(int argc, char **argv)
{
    struct network_config config = small;
    char cache[] = "/tmp/unet-network-XXXXXX";

    if (!mkdtemp(cache) || setenv("XDG_CACHE_HOME", cache, 1))
        bail_out("no folder in /tmp");
    only_part = argc > 1 ? atoi(argv[1]) : -1; /* --list: none, as there is no part 0 */
    need_device();
    PART(check_training(config, OPTIM_SGD, "SGD"));
    PART(check_training(config, OPTIM_LARS, "LARS"));
    PART(check_training(config, OPTIM_LAMB, "LAMB"));
    PART(check_clipped(config, OPTIM_ADAM, 0.02, "Adam, clipped"));
    PART(check_clipped(config, OPTIM_LAMB, 0.05, "LAMB, clipped"));
    PART(check_clipped(config, OPTIM_SGD, 1e6, "SGD, hardly ever clipped"));
    config.batch_norm = BATCH_NORM_NONE;
    config.loss = LOSS_CE_DICE;
    PART(check_training(config, OPTIM_ADAMW, "AdamW, CE + Dice, no batch norm"));
    setenv("EMULATE_CUDNN", "alone", 1);
    config.height = 20; /* a shape for which no engine has been chosen */
    penalty = 0.05;
    PART(check_training(config, OPTIM_SGD, "penalties; cuDNN fuses nothing"));
    penalty = 0;
    unsetenv("EMULATE_CUDNN");
    config.dtype = DTYPE_F16;
    PART(check_training(config, OPTIM_ADAM, "Adam in fp16"));
    config.dtype = DTYPE_F32;
    config.height = small.height;
    config.classes = 3;
    config.loss = LOSS_CE;
    config.class_weights = (const float[]){1, 2, 0.5F};
    PART(check_training(config, OPTIM_SGD, "three classes with weights"));
    check_models();
    PART(check_bf16());
    PART(check_types());
    PART(check_kept(DTYPE_F32, 5e-3));
    PART(check_kept(DTYPE_BF16, 0.05));
    PART(check_scaling());
    PART(check_scaled_clip());
    PART(check_left_out());
    PART(check_all_counts());
    PART(check_sync(DTYPE_F32, 2e-3));
    PART(check_sync(DTYPE_BF16, 4e-2));
    PART(check_ready());
    PART(check_alone(DTYPE_F32));
    PART(check_alone(DTYPE_F16));
    PART(check_recorded());
    PART(check_room());
    remove_cache(cache);
    if (only_part == 0)
        return list_parts();
    return done_testing();
}
