/* SPDX-License-Identifier: BSD-3-Clause */
/* On the host a run is a call of graph_run; on a device it is queued (network_internal.h). */
#include "src/base.h"
#include "trainer/network/network.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <fnmatch.h>
#include <math.h>

#include "src/cli.h"
#include "trainer/backends/backends.h"
#include "trainer/network/network_internal.h"

static int copy_class_weights(struct network *n, struct err *e)
{
    size_t count = n->config.classes == 1 ? 2 : (size_t)n->config.classes;

    if (!n->config.class_weights)
        return 0;
    n->class_weights = mem_alloc(count, sizeof *n->class_weights, e);
    if (!n->class_weights)
        return -1;
    memcpy(n->class_weights, n->config.class_weights, count * sizeof *n->class_weights);
    n->config.class_weights = n->class_weights;
    return 0;
}

static int configure(struct network *n, const struct network_config *config, struct err *e)
{
    n->model = model_open(config->model, e);
    if (!n->model)
        return -1;
    n->backend = backend_find(config->backend);
    if (!n->backend)
        return err_set(e, ERR_CONFIG,
                       "there is no backend \"%s\" in this build", config->backend);
    if (config->dtype == DTYPE_F16 && !n->backend->device)
        return err_set(e, ERR_CONFIG, "backend %s can't train in fp16, whose small gradients need a "
                       "scaled loss: take bf16 or f32", n->backend->name);
    if (config->tf32 && !n->backend->device)
        return err_set(e, ERR_CONFIG, "backend %s can't train in tf32, a mode of GPUs: take f32 or "
                       "bf16, or backend cuda", n->backend->name);
    if (config->threads < 1)
        return err_set(e, ERR_CONFIG, "threads is %d; at least 1 is needed", config->threads);
    n->config = *config;
    n->config.model = n->model->name;
    n->config.backend = n->backend->name;
    n->config.classes = config->classes ? config->classes : 1;
    n->config.base = config->base ? config->base : n->model->base;
    n->config.depth = config->depth ? config->depth : n->model->depth;
    return model_check(n->model, &n->config, e) || copy_class_weights(n, e) ? -1 : 0;
}

/* Sets *value to the largest of all replicas, once the steps in flight are done. */
static int find_largest(struct network *n, double *value, struct err *e)
{
    return runner_wait(&n->runner, e) || n->link.largest(n->link.arg, value, e) ? -1 : 0;
}

/* A runner.agree. */
static int agree_on_capture(void *arg, const struct capture *r, const struct err *why,
                              bool *all, struct err *e)
{
    struct network *n = arg;
    double own = why ? 1. / (1 + n->link.rank) : 0, largest = own;

    if (r->shares && find_largest(n, &largest, e))
        return -1;
    *all = largest == 0;
    if (*all)
        return 0;
    if (why && largest == own)
        log_warn("a step cannot be captured as a CUDA graph: %s; the run continues with steps that "
                 "are queued kernel by kernel, which is slower; UNET_CAPTURE=off in the "
                 "environment does so from the start", why->text);
    *(r->shares ? &n->may_capture_sums : &n->may_capture) = false;
    return 0;
}

static int open_device(struct network *n, struct err *e)
{
    struct device_config c = {.tf32 = n->config.tf32, .deterministic = n->config.deterministic};

    if (!n->backend->device)
        return 0;
    if (runner_open(&n->runner, n->backend->device, n->config.device, e) < 0)
        return -1;
    n->runner.ops->configure(n->runner.device, &c);
    n->runner.agree = agree_on_capture;
    n->runner.agree_arg = n;
    n->captures.ops = n->runner.ops;
    return 0;
}

/* OpenMP's number of threads is a setting of the calling thread, so replicas can differ. */
static void set_threads(const struct network *n)
{
#ifdef _OPENMP
    omp_set_num_threads(n->config.threads);
#else
#endif
}

/* Refuses patterns that match no parameter, or leave none to train. */
static int check_frozen(const struct network *n, struct err *e)
{
    const struct weights *w = n->weights;
    const char *rest = n->config.freeze, **names = NULL;
    char pattern[TENSOR_NAME_SIZE], near[CLI_SUGGESTION];
    size_t count = 0, i = 0;

    if (!rest || !*rest)
        return 0;
    if (w->nparams == 0)
        return err_set(e, ERR_CONFIG, "model.freeze: '%s' leaves nothing to train", rest);
    if (!(names = mem_zero(w->nentries + 1, sizeof *names, e)))
        return -1;
    for (size_t k = w->nentries; k-- > 0;)
        if (w->entries[k].frozen || w->entries[k].role == WEIGHTS_PARAM)
            names[count++] = w->entries[k].name;
    while (i < count && graph_next_pattern(&rest, pattern))
        for (i = 0; i < count && fnmatch(pattern, names[i], 0) != 0;)
            i++;
    if (i == count)
        err_set(e, ERR_CONFIG, "model.freeze: no parameter has a name like '%s'%s; they are %s ... %s "
                "(unet-train model NAME shows the layers)", pattern,
                cli_suggest(pattern, names, near), names[0], names[count - 1]);
    free(names);
    return i < count ? 0 : -1;
}

static int create_weights(struct network *n, struct err *e)
{
    struct graph *g = compiled_build(n, COMPILED_TRAIN, 1, e);
    int rc = -1;

    set_threads(n);
    if (g)
        n->weights = first_weights_create(g, n->config.seed, n->runner.ops, n->runner.device, e);
    if (n->weights) {
        rc = check_frozen(n, e) || weights_push(n->weights, e) || graph_place(g, n->weights, e)
                 ? -1 : 0;
        n->plan_hash = graph_hash(g);
    }
    graph_destroy(g);
    return rc;
}

struct network *network_create(const struct network_config *config, struct err *e)
{
    struct network *n = mem_zero(1, sizeof *n, e);
    const char *capture = getenv("UNET_CAPTURE");

    if (!n)
        return NULL;
    n->may_capture = !capture || strcmp(capture, "off") != 0;
    if (configure(n, config, e) < 0 || open_device(n, e) < 0 || create_weights(n, e) < 0) {
        network_destroy(n);
        return NULL;
    }
    return n;
}

void network_stop(struct network *n)
{
    struct err e;

    if (!n || !n->runner.device)
        return;
    n->runner.ops->watch(n->runner.device, NULL, NULL); /* this wait must not end early */
    n->runner.done = NULL;
    (void)runner_wait(&n->runner, &e);
}

void network_destroy(struct network *n)
{
    if (!n)
        return;
    network_stop(n);
    captures_release(&n->captures);
    compiled_release(n);
    weights_destroy(n->weights);
    runner_close(&n->runner);
    free(n->class_weights);
    free(n);
}

void network_abandon(struct network *n)
{
    if (n)
        captures_forget(&n->captures);
}

struct weights *network_weights(struct network *n)
{
    n->runner.kept = NULL; /* the caller may change them */
    return n->weights;
}

size_t network_targets(const struct network *n)
{
    return n->model->classifies ? 1 : (size_t)n->config.height * (size_t)n->config.width;
}

static size_t image_values(const struct network *n)
{
    return (size_t)n->config.height * (size_t)n->config.width * (size_t)n->config.channels;
}

const char *network_backend(const struct network *n)
{
    return n->backend->name;
}

uint64_t network_device(const struct network *n)
{
    return n->runner.device ? n->runner.ops->id(n->runner.device) : 0;
}

void network_set_sum(struct network *n, network_sum_f sum, void *arg)
{
    n->sum = sum;
    n->sum_arg = arg;
}

void network_set_link(struct network *n, const struct network_link *link)
{
    network_set_sum(n, link->sum, link->arg);
    n->link = *link;
    n->may_capture_sums = n->may_capture && link->sum && link->largest;
    n->runner.done = link->done;
    n->runner.done_arg = link->arg;
    n->runner.ops->watch(n->runner.device, link->watch, link->arg);
}

/* Before the first step, replicas agree whether they capture at all. Later, inference may have
 * moved the memory of some, whose graphs are lost then; the others discard theirs. */
int network_begin_epoch(struct network *n, struct err *e)
{
    double state = !n->may_capture_sums ? 2 : n->captures.moved ? 1 : 0;

    if (!n->link.largest)
        return 0;
    if (find_largest(n, &state, e))
        return -1;
    n->may_capture_sums = state < 2;
    if (state > 0)
        captures_forget(&n->captures);
    return 0;
}

/* For new shares a replica may need more memory, which moves that of its other graphs. */
int network_begin_step(struct network *n, const uint64_t *shares, size_t nruns, struct err *e)
{
    for (size_t i = 0; i < nruns && n->may_capture_sums; i++)
        if (!captures_know(&n->captures, shares[i])) {
            if (runner_wait(&n->runner, e))
                return -1;
            captures_forget(&n->captures);
            return 0;
        }
    return 0;
}

const struct device_ops *network_device_ops(const struct network *n, struct device **device)
{
    *device = n->runner.device;
    return n->runner.ops;
}

static struct compiled *get_compiled(struct network *n, enum compiled_mode mode, int batch,
                                     struct err *e)
{
    set_threads(n);
    return compiled_get(n, mode, batch, e);
}

static enum compiled_mode forward_mode(bool training)
{
    return training ? COMPILED_TRAIN : COMPILED_INFER;
}

float *network_input(struct network *n, bool training, int batch, struct err *e)
{
    const struct compiled *c = get_compiled(n, forward_mode(training), batch, e);

    if (!c || !n->runner.device)
        return c ? c->graph->input->data : NULL;
    struct record *r = runner_input(&n->runner, c->graph, e);
    return r ? record_image(r) : NULL;
}

float *network_target(struct network *n, bool training, int batch, struct err *e)
{
    const struct compiled *c = get_compiled(n, forward_mode(training), batch, e);

    if (!c || !n->runner.device)
        return c ? c->graph->target->data : NULL;
    struct record *r = runner_input(&n->runner, c->graph, e);
    return r ? record_target(r, tensor_count(c->graph->input)) : NULL;
}

int network_place(struct network *n, bool training, const struct record_batch *b, struct err *e)
{
    size_t images = image_values(n), targets = network_targets(n);

    if (n->runner.device) {
        n->runner.next = *b;
        return 0;
    }
    const struct compiled *c = get_compiled(n, forward_mode(training), (int)b->count, e);
    if (!c)
        return -1;
    float *image = c->graph->input->data, *target = c->graph->target->data;
#pragma omp parallel for
    for (size_t i = 0; i < b->count; i++)
        record_unpack(record_at(b, i), images, targets, image + i * images, target + i * targets);
    return 0;
}

int network_await(struct network *n, struct err *e)
{
    return n->runner.device ? runner_await(&n->runner, e) : 0;
}

/* The gradients of a step without images: zeros. */
struct zero_gradients {
    const struct runner *runner; /* clears them in its queue; NULL: the host does */
    float *grad;
    size_t nready; /* grad[0..nready) is 0 and reported to ready */
    network_ready_f ready;
    void *arg;
};

/* A network_ready_f: clears the gradients below upto and then calls the step's own, g->ready. */
static int report_zeros(void *arg, size_t upto, struct err *e)
{
    struct zero_gradients *g = arg;
    size_t nbytes = upto ? (upto - g->nready) * sizeof *g->grad : 0;

    if (g->runner) {
        g->runner->ops->flush(g->runner->device); /* gradients that would be written later */
        if (nbytes &&
            g->runner->ops->clear(g->runner->device, g->grad + g->nready, nbytes, e))
            return -1;
    } else {
        memset(g->grad + g->nready, 0, nbytes);
    }
    g->nready = upto;
    return g->ready ? g->ready(g->arg, upto, e) : 0;
}

/* Queues a run of c, which is NULL for a step without images that runs no graph. */
static int queue_run(struct network *n, struct compiled *c, struct exec *x, uint64_t shares,
                     struct runner_work w, struct err *e)
{
    bool captures = shares ? n->may_capture_sums : n->may_capture;

    w.graph = c ? c->graph : NULL;
    if (shares)
        n->captures.moved = false; /* within a step only new shares move memory */
    if (captures && !(c && c->graph->timed)) {
        w.captured = captures_get(&n->captures, w.graph, x->update, shares, e);
        if (!w.captured)
            return -1;
    }
    return runner_run(&n->runner, &w, x, e);
}

/* A step without images. With synchronised batch norm it runs a batch of one arbitrary image, whose
 * sums count as zeros, so that this replica takes part in the sums of the others and gets the same
 * running statistics. */
static int train_without_images(struct network *n, struct exec *x, uint64_t shares,
                                network_ready_f ready, void *arg, struct err *e)
{
    struct zero_gradients g = {.grad = n->weights->grad, .ready = ready, .arg = arg};
    bool meets = n->config.batch_norm == BATCH_NORM_SYNC && n->sum;
    struct compiled *c = meets ? get_compiled(n, COMPILED_TRAIN, 1, e) : NULL;

    x->empty = true;
    x->counts = (struct device_counts){0};
    if (meets && !c)
        return -1;
    if (n->runner.device) {
        struct runner_work w = {.kind = RUNNER_EMPTY, .ready = report_zeros, .arg = &g,
                               .upto = n->weights->nparams};
        g.runner = &n->runner;
        return queue_run(n, c, x, shares, w, e);
    }
    if (meets && graph_run(c->graph, x, report_zeros, &g, e) < 0)
        return -1;
    return g.nready < n->weights->nparams ? report_zeros(&g, n->weights->nparams, e) : 0;
}

static double weigh_target(const struct network *n, float target)
{
    const float *w = n->class_weights;

    return target < 0 ? 0 : !w ? 1
           : n->config.classes == 1 ? (double)(w[0] + (w[1] - w[0]) * target)
                                    : (double)w[(size_t)target];
}

/* Weighs each of the 256 values of a byte once. */
static double weigh_bytes(const struct network *n, const struct record *r, const uint8_t *bytes)
{
    size_t targets = network_targets(n);
    uint32_t counts[4][256] = {{0}}; /* several, as equal values follow each other */
    double sum = 0;

    for (size_t i = 0; i < targets; i++)
        counts[i % 4][bytes[i]]++;
    for (int v = 0; v < 256; v++) {
        const uint8_t byte = (uint8_t)v;
        uint32_t count = counts[0][v] + counts[1][v] + counts[2][v] + counts[3][v];
        float target;

        record_decode((enum record_kind)r->target_kind, &byte, r->target_divisor, 1, &target);
        if (count)
            sum += count * weigh_target(n, target);
    }
    return sum;
}

static double weigh_targets(const struct network *n, const struct record *r)
{
    const void *target = record_target(r, image_values(n));
    double sum = 0;

    if (r->target_kind != RECORD_NUMBERS)
        return weigh_bytes(n, r, target);
    for (size_t i = 0; i < network_targets(n); i++)
        sum += weigh_target(n, ((const float *)target)[i]);
    return sum;
}

#define WEIGH_MOST 64 /* records at a time */

double network_loss_divisor(const struct network *n, const struct record_batch *b)
{
    double sum = 0;

    for (size_t begin = 0; begin < b->count; begin += WEIGH_MOST) {
        size_t count = b->count - begin < WEIGH_MOST ? b->count - begin : WEIGH_MOST;
        double sums[WEIGH_MOST];

#pragma omp parallel for
        for (size_t i = 0; i < count; i++)
            sums[i] = weigh_targets(n, record_at(b, begin + i));
        for (size_t i = 0; i < count; i++)
            sum += sums[i]; /* in order: the same bits for any number of threads */
    }
    return sum;
}

int network_wait(struct network *n, double *loss_sum, struct err *e)
{
    if (!n->runner.device)
        return 0;
    if (runner_wait(&n->runner, e) < 0)
        return -1;
    *loss_sum += n->runner.loss;
    n->runner.loss = 0;
    return 0;
}

static int train_on_device(struct network *n, struct compiled *c, struct exec *x, uint64_t shares,
                           double *loss_sum, network_ready_f ready, void *arg, struct err *e)
{
    struct runner_work w = {.kind = RUNNER_TRAINED, .ready = ready, .arg = arg};

    if (queue_run(n, c, x, shares, w, e))
        return -1;
    *loss_sum += n->runner.loss;
    n->runner.loss = 0;
    return 0;
}

int network_train(struct network *n, int batch, struct network_step step, double *loss_sum,
                  network_ready_f ready, void *arg, struct err *e)
{
    double pixels = step.images * (double)network_targets(n);
    struct exec x = {.grad_scale = 1 / fmax(step.loss_divisor, 1e-30),
                     .image_scale = 1 / step.images,
                     .loss_per_image = pixels / step.images, .noise = step.noise,
                     .first = step.first, .sum = n->sum, .sum_arg = n->sum_arg,
                     .update = step.update,
                     .scaling = step.scaling, .counts = {.score = step.score},
                     .votes = {step.votes[0], step.votes[1]}};
    uint64_t shares = n->runner.device && n->sum ? step.shares : 0;
    struct compiled *c;

    x.loss_per_weight = step.loss_divisor == pixels ? 1 : pixels * x.grad_scale;
    if (step.sums_loss_divisor && n->runner.device && n->sum) {
        x.divides_loss = true;
        x.loss_divisor = step.loss_divisor;
        x.grad_scale = 1;
        x.loss_per_weight = pixels;
    }

    if (batch == 0)
        return train_without_images(n, &x, shares, ready, arg, e);
    c = get_compiled(n, COMPILED_TRAIN, batch, e);
    if (c && n->runner.device)
        return train_on_device(n, c, &x, shares, loss_sum, ready, arg, e);
    if (!c || graph_run(c->graph, &x, ready, arg, e) < 0)
        return -1;
    *loss_sum += x.loss_sum;
    return 0;
}

int network_choose(struct network *n, bool training, int batch, struct err *e)
{
    struct compiled *c = get_compiled(n, training ? COMPILED_TRAIN : COMPILED_MEASURE, batch, e);
    struct exec x = {.device = n->runner.device, .device_ops = n->runner.ops};

    n->runner.kept = NULL;
    for (size_t i = 0; c && i < c->graph->nops; i++)
        n->runner.ops->choose(c->graph->ops[i], &x);
    return c ? runner_wait(&n->runner, e) : -1;
}

int network_measure(struct network *n, int batch, struct device_counts counts, struct err *e)
{
    struct exec x = {.counts = counts};
    struct compiled *c = get_compiled(n, COMPILED_MEASURE, batch, e);

    return c ? queue_run(n, c, &x, 0, (struct runner_work){.kind = RUNNER_NONE}, e) : -1;
}

int network_infer(struct network *n, int batch, const float **logits, struct err *e)
{
    struct exec x = {0};
    struct compiled *c = get_compiled(n, COMPILED_INFER, batch, e);

    if (c && n->runner.device) {
        *logits = queue_run(n, c, &x, 0, (struct runner_work){.kind = RUNNER_NONE}, e)
                      ? NULL
                      : runner_logits(&n->runner, c->graph, e);
        return *logits ? 0 : -1;
    }
    if (!c || graph_run(c->graph, &x, NULL, NULL, e) < 0)
        return -1;
    *logits = c->graph->logits->data;
    return 0;
}

uint64_t network_plan_hash(const struct network *n)
{
    return n->plan_hash;
}

int network_count(struct network *n, bool training, int batch, double *flop, double *bytes,
                  struct err *e)
{
    const struct compiled *c = get_compiled(n, forward_mode(training), batch, e);

    if (!c)
        return -1;
    profile_sum(c->graph, flop, bytes);
    return 0;
}

void network_time_ops(struct network *n)
{
    for (struct compiled *c = n->compiled; c; c = c->next)
        c->graph->timed = true;
}

void network_print_times(const struct network *n, const struct profile_peak *peak, FILE *out)
{
    for (const struct compiled *c = n->compiled; c; c = c->next)
        profile_print(c->graph, peak, out);
}
