/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/step.h"

#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/rng.h"
#include "trainer/step/device_step.h"
#include "trainer/run/session.h"

#define STREAM_DROPOUT (UINT64_C(0x44524f50) << 32)

bool step_has_noise(const struct session *s)
{
    return s->comm->size > 1 || s->config->train.accumulate > 1;
}

static int sum_for_batch_norm(void *arg, double *values, size_t n, struct err *e)
{
    struct session *s = arg;
    double began = clock_now();
    int rc = s->comm->ops->sum_aside(s->comm, values, n, e);
    double ended = clock_now();

    s->norm_s += ended - began;
    trace_span(s->trace, TRACE_BATCH_NORM, "sum", began, ended);
    return rc;
}

/* The gradients of the batches of a step so far. */
static int open_sum(struct session *s, struct err *e)
{
    size_t nbytes = network_weights(s->network)->nparams * sizeof *s->sum;
    struct device *d;
    const struct device_ops *ops = network_device_ops(s->network, &d);

    s->sum = s->linked.steps ? ops->alloc(d, DEVICE_LOCAL, nbytes, e) : malloc(nbytes);
    return s->sum || s->linked.steps ? 0 : err_set(e, ERR_INTERNAL, "out of memory for gradients");
}

/* Room for the images of a step that is computed in several batches. */
static int open_micro(struct session *s, struct err *e)
{
    const struct network_config *c = &s->network_config;
    size_t n = (size_t)run_config_step_batch(s->config);
    size_t image = (size_t)c->height * (size_t)c->width * (size_t)c->channels;

    s->images = calloc(n * image, sizeof *s->images);
    s->targets = calloc(n * network_targets(s->network), sizeof *s->targets);
    if (!s->images || !s->targets)
        return err_set(e, ERR_INTERNAL, "out of memory for steps of %d images (train.accumulate)",
                       run_config_step_batch(s->config));
    return open_sum(s, e);
}

int step_open(struct session *s, struct err *e)
{
    if (device_step_is_possible(s))
        device_step_link(s);
    else if (s->comm->size > 1)
        network_set_sum(s->network, sum_for_batch_norm, s);
    return s->config->train.accumulate > 1 ? open_micro(s, e) : 0;
}

void step_close(struct session *s)
{
    struct device *d;

    if (s->sum && s->linked.steps)
        network_device_ops(s->network, &d)->free(d, DEVICE_LOCAL, s->sum);
    else
        free(s->sum);
    free(s->images);
    free(s->targets);
    s->images = s->targets = s->sum = NULL;
}

int step_place_gradients(struct session *s, struct err *e)
{
    struct weights *w = network_weights(s->network);
    float *grad = NULL;

    if (network_device(s->network)) /* they stay where the device reaches them */
        return s->comm->ops->queue_place ? device_step_place_gradients(s, e) : 0;
    if (s->comm->ops->place(s->comm, w->nparams, &grad, e))
        return -1;
    if (grad)
        weights_place_grad(w, grad);
    return 0;
}

/* Slices are cut at the same places on every rank, however far each call of backward gets: a rank
 * without images in a step has all its gradients at once. */
static int start_buckets(void *arg, size_t upto, struct err *e)
{
    struct step_reduction *r = arg;
    struct comm *c = r->session->comm;
    const struct weights *w = network_weights(r->session->network);
    const struct gradient_cuts *cuts = &r->session->exchange.cuts;

    for (; r->ncuts < cuts->n && cuts->ends[r->ncuts] <= upto; r->ncuts++) {
        size_t begin = r->ncuts ? cuts->ends[r->ncuts - 1] : 0, n = cuts->ends[r->ncuts] - begin;
        if (c->size > 1 && r->session->config->train.accumulate == 1)
            r->square += gradient_noise_square(w->grad + begin, n);
        double began = clock_now();
        if (c->ops->start_sum_float(c, w->grad + begin, n, e))
            return -1;
        r->comm_s += clock_now() - began;
    }
    return 0;
}

static int load_batch(struct session *s, struct shard_range range, struct err *e)
{
    size_t n = range.end - range.begin;
    float *input, *target;

    if (n == 0)
        return loader_next(s->loader, NULL, NULL, e);
    input = network_input(s->network, true, (int)n, e);
    target = input ? network_target(s->network, true, (int)n, e) : NULL;
    return target ? loader_next(s->loader, input, target, e) : -1;
}

/* The votes travel with the gradients, so that agreeing costs no step anything. */
static int cast_votes(struct session *s, struct err *e)
{
    double every = s->config->train.checkpoint_s;

    s->votes[0] = s->request && *s->request;
    s->votes[1] = s->record && every > 0 && clock_now() - s->last_checkpoint >= every;
    if (s->linked.steps)
        return 0;
    return s->comm->ops->start_sum_float(s->comm, s->votes, 2, e);
}

/* What the gradients are divided by. Where every pixel counts as 1 nobody needs to be asked. */
static bool must_weigh(const struct session *s)
{
    const struct network_config *c = &s->network_config;

    return c->loss != LOSS_DICE &&
           (c->classes > 1 || c->class_weights || *s->config->data.ignore);
}

/* Devices that are linked do it themselves: the host need not wait for a step's end. */
static int sum_weight(struct session *s, struct network_step *step, struct err *e)
{
    step->own_weight = s->linked.steps && s->comm->ops->queue_sum;
    return step->own_weight ? 0 : comm_sum_double(s->comm, &step->weight, 1, e);
}

static int measure_step(struct session *s, size_t n, size_t items, struct network_step *step,
                        struct err *e)
{
    *step = (struct network_step){.images = (double)items,
                                  .weight = (double)items * (double)network_targets(s->network)};
    if (!must_weigh(s))
        return 0;
    return network_weigh(s->network, (int)n, &step->weight, e) ? -1 : sum_weight(s, step, e);
}

int step_place_images(struct session *s, size_t begin, size_t end, struct err *e)
{
    const struct network_config *c = &s->network_config;
    size_t pixels = network_targets(s->network);
    size_t image = (size_t)c->height * (size_t)c->width * (size_t)c->channels;
    float *input = network_input(s->network, true, (int)(end - begin), e);
    float *target = input ? network_target(s->network, true, (int)(end - begin), e) : NULL;

    if (!target)
        return -1;
    memcpy(input, s->images + begin * image, (end - begin) * image * sizeof *input);
    memcpy(target, s->targets + begin * pixels, (end - begin) * pixels * sizeof *target);
    return 0;
}

static int weigh_micro(struct session *s, size_t n, size_t items, struct network_step *step,
                       struct err *e)
{
    int parts = s->config->train.accumulate;
    double sum = 0, weight;

    *step = (struct network_step){.images = (double)items,
                                  .weight = (double)items * (double)network_targets(s->network)};
    if (!must_weigh(s))
        return 0;
    for (int i = 0; i < parts; i++) {
        struct shard_range r = shard_eval(n, parts, i);
        if (r.begin == r.end)
            continue;
        if (step_place_images(s, r.begin, r.end, e) ||
            network_weigh(s->network, (int)(r.end - r.begin), &weight, e))
            return -1;
        sum += weight;
    }
    step->weight = sum;
    return sum_weight(s, step, e);
}

/* The same number of batches on every replica, the empty ones too: synchronised batch norm meets in
 * each. */
static int train_micro(struct session *s, size_t n, size_t items, struct network_step step,
                       struct err *e)
{
    struct weights *w = network_weights(s->network);
    int parts = s->config->train.accumulate;
    uint64_t first = step.first;

    memset(s->sum, 0, w->nparams * sizeof *s->sum);
    for (int i = 0; i < parts; i++) {
        struct shard_range r = shard_eval(n, parts, i);
        step.first = first + r.begin;
        if ((r.end > r.begin && step_place_images(s, r.begin, r.end, e)) ||
            network_train(s->network, (int)(r.end - r.begin), step, &s->at.loss, NULL, NULL, e) ||
            network_wait(s->network, &s->at.loss, e))
            return -1;
        gradient_noise_add_batch(&s->noise, gradient_noise_square(w->grad, w->nparams),
                                 r.end - r.begin, items);
        for (size_t k = 0; k < w->nparams; k++)
            s->sum[k] += w->grad[k];
    }
    memcpy(w->grad, s->sum, w->nparams * sizeof *s->sum);
    return 0;
}

/* Forward and backward; reduction: what backward has started. */
static int compute_step(struct session *s, size_t n, size_t items, struct network_step step,
                        struct step_reduction *reduction, struct err *e)
{
    if (s->linked.steps)
        return device_step_queue(s, n, items, step, reduction, e);
    if (s->config->train.accumulate == 1) {
        int rc = network_train(s->network, (int)n, step, &s->at.loss,
                               s->comm->size > 1 ? start_buckets : NULL, reduction, e);
        gradient_noise_add_batch(&s->noise, reduction->square, n, items);
        return rc;
    }
    return train_micro(s, n, items, step, e) ||
           start_buckets(reduction, network_weights(s->network)->nparams, e) ? -1 : 0;
}

static int prepare_step(struct session *s, struct shard_range range, size_t items,
                        struct network_step *step, struct err *e)
{
    size_t n = range.end - range.begin;

    bool whole = s->config->train.accumulate == 1;
    int rc = whole ? load_batch(s, range, e) || measure_step(s, n, items, step, e)
                   : loader_next(s->loader, s->images, s->targets, e) ||
                         weigh_micro(s, n, items, step, e);

    step->noise = rng_u64((uint64_t)s->config->seed, STREAM_DROPOUT, (uint64_t)s->at.epoch);
    step->first = range.begin;
    return rc ? -1 : 0;
}

/* What becomes of the gradients when all replicas' are summed; update: planned, if the device does it. */
static int apply_gradients(struct session *s, size_t items, double rate,
                           const struct device_update *update, struct err *e)
{
    struct weights *w = network_weights(s->network);

    if (s->linked.steps) /* part of the run */
        return 0;
    if (step_has_noise(s))
        gradient_noise_add_step(&s->noise, gradient_noise_square(w->grad, w->nparams), items);
    if (update)
        return network_update(s->network, update, e);
    if (weights_have_penalty(w))
        weights_penalize(w);
    if (s->config->train.clip_norm > 0)
        optim_clip(w, s->config->train.clip_norm);
    optim_step(s->optim, w, rate);
    return 0;
}

int step_train(struct session *s, struct shard_range range, size_t items, double rate,
               struct err *e)
{
    struct weights *w = network_weights(s->network);
    struct step_reduction reduction = {.session = s};
    struct network_step step;
    struct device_update update;
    size_t n = range.end - range.begin;
    double began = clock_now();

    /* A device may still compute on earlier images in this place: that is no waiting for data. */
    if (n > 0 && s->config->train.accumulate == 1 && !network_input(s->network, true, (int)n, e))
        return -1;
    double waited = clock_now();
    if (prepare_step(s, range, items, &step, e) || cast_votes(s, e))
        return -1;
    double loaded = clock_now();
    s->norm_s = 0;
    bool on_device = network_device(s->network) != 0;
    if (on_device)
        optim_plan(s->optim, w, rate, s->config->train.clip_norm, &update);
    step.update = s->linked.steps ? &update : NULL;
    step.scaling = s->optim->scaling;
    step.score = s->score;
    if (compute_step(s, n, items, step, &reduction, e))
        return -1;
    double computed = clock_now();
    if (s->comm->ops->wait(s->comm, e))
        return -1;
    double summed = clock_now();
    for (size_t i = 0; i < s->comm->nspans; i++)
        trace_span(s->trace, TRACE_GRADIENTS, "sum", s->comm->spans[i].began,
                   s->comm->spans[i].ended);
    if (apply_gradients(s, items, rate, on_device ? &update : NULL, e))
        return -1;
    s->at.step++;
    s->at.data_s += loaded - waited;
    s->at.comm_s += reduction.comm_s + s->norm_s + (summed - computed);
    double ended = clock_now();
    s->at.compute_s += waited - began + computed - loaded - reduction.comm_s - s->norm_s +
                       (ended - summed);
    trace_span(s->trace, TRACE_STEPS, "images", waited, loaded);
    trace_span(s->trace, TRACE_STEPS, "forward, backward", loaded, computed);
    trace_span(s->trace, TRACE_STEPS, "wait for sums", computed, summed);
    trace_span(s->trace, TRACE_STEPS, "update", summed, ended);
    return exchange_add_step(&s->exchange, s->comm, w, ended - loaded, s->record, &s->at.bucket, e);
}
