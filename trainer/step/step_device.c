/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <math.h>
#include <string.h>

#include "trainer/step/step_kind.h"

#define QUEUED 4 /* more than DEVICE_SLOTS, a power of 2 */

/* A queued run of the network: a step, or one of its parts. */
struct queued_run {
    size_t images, items;
    size_t step;
    bool last; /* of its step */
};

/* The host queues up to DEVICE_SLOTS runs ahead of their results. Collective decisions use votes
 * that are DEVICE_SLOTS steps old, which all replicas have by then. */
struct step_on_device {
    struct step step;
    struct device *device;
    const struct device_ops *ops;
    float *sum;    /* with parts: of the gradients so far; the device's own memory */
    size_t ncuts;  /* slices whose sums are queued */
    struct queued_run queued[QUEUED];
    size_t nqueued, ndone;
    size_t nsteps;
    float votes[QUEUED][STEP_VOTES]; /* by step */
};

static struct step_on_device *device_of(struct step *s)
{
    return (struct step_on_device *)s;
}

/* All sums between devices use one stream, so that their order is the same on all ranks. */
static int sum_for_batch_norm(void *arg, double *values, size_t n, struct err *e)
{
    struct step_on_device *d = arg;
    struct comm *c = d->step.config.comm;
    void *stream = d->ops->branch(d->device, e);

    return !stream || c->ops->queue_sum(c, stream, values, n, REDUCE_SUM_DOUBLE, e) ||
                   d->ops->merge(d->device, e)
               ? -1
               : 0;
}

static int check_device_wait(void *arg, double waited_s, struct err *e)
{
    struct step *s = arg;

    return s->config.comm->ops->check(s->config.comm, waited_s, e);
}

static void note_run(void *arg, const struct device_sums *sums)
{
    struct step_on_device *d = arg;
    struct gradient_noise *noise = &d->step.epoch.noise;
    const struct queued_run *run = &d->queued[d->ndone++ % QUEUED];
    /* An fp16 step may have been skipped. */
    bool counts = d->step.has_noise && isfinite(sums->own_square) && isfinite(sums->square);

    if (counts)
        gradient_noise_add_batch(noise, sums->own_square, run->images, run->items);
    if (counts && run->last)
        gradient_noise_add_step(noise, sums->square, run->items);
    memcpy(d->votes[run->step % QUEUED], sums->votes, sizeof *d->votes);
}

static int place_gradients(struct step_on_device *d, struct weights *w, struct err *e)
{
    struct comm *c = d->step.config.comm;
    size_t nbytes = w->nparams * sizeof *w->grad;
    void *grad = NULL;

    if (c->ops->queue_place && c->ops->queue_place(c, nbytes, &grad, e))
        return -1;
    if (!grad)
        return 0;
    if (d->ops->clear(d->device, grad, nbytes, e))
        return -1;
    weights_place_grad(w, grad);
    return 0;
}

static int device_open(struct step *s, struct err *e)
{
    struct step_on_device *d = device_of(s);
    struct network *network = s->config.network;
    struct weights *w = network_weights(network);
    bool sums = s->config.comm->ops->queue_sum != NULL;
    struct network_link link = {sums ? sum_for_batch_norm : NULL, sums ? check_device_wait : NULL,
                                note_run, d};

    d->ops = network_device_ops(network, &d->device);
    network_set_link(network, &link);
    s->own_weight = sums;
    if (s->config.accumulate > 1) {
        d->sum = d->ops->alloc(d->device, DEVICE_LOCAL, w->nparams * sizeof *d->sum, e);
        if (!d->sum)
            return -1;
    }
    return place_gradients(d, w, e);
}

/* Sums numbers in the device's memory; nothing to do for a single replica. */
static int queue_sum(struct step_on_device *d, void *stream, float *values, size_t n, struct err *e)
{
    struct comm *c = d->step.config.comm;

    return c->ops->queue_sum ? c->ops->queue_sum(c, stream, values, n, REDUCE_SUM_FLOAT, e) : 0;
}

/* Gradients below upto are complete: queues their sums beside the rest of backward. */
static int queue_buckets(void *arg, size_t upto, struct err *e)
{
    struct step_on_device *d = arg;
    const struct step *s = arg;
    const struct weights *w = network_weights(s->config.network);
    const struct exchange_cuts *cuts = &s->exchange.cuts;

    for (; d->ncuts < cuts->n && cuts->ends[d->ncuts] <= upto; d->ncuts++) {
        size_t begin = d->ncuts ? cuts->ends[d->ncuts - 1] : 0, n = cuts->ends[d->ncuts] - begin;
        void *stream = d->ops->branch(d->device, e);
        if (!stream)
            return -1;
        if (s->has_noise && s->config.accumulate == 1)
            d->ops->square(d->device, w->grad + begin, n, true);
        if (queue_sum(d, stream, w->grad + begin, n, e))
            return -1;
        if (s->has_noise)
            d->ops->square(d->device, w->grad + begin, n, false);
    }
    if (upto < w->nparams)
        return 0;
    void *stream = d->ops->branch(d->device, e);
    return !stream || queue_sum(d, stream, d->ops->votes(d->device), STEP_VOTES, e) ||
                   d->ops->merge(d->device, e)
               ? -1
               : 0;
}

/* After a part: dst += src, of its gradients and those of earlier parts. */
static int queue_addition(struct step_on_device *d, float *dst, const float *src, struct err *e)
{
    const struct weights *w = network_weights(d->step.config.network);

    if (!d->ops->branch(d->device, e))
        return -1;
    d->ops->square(d->device, w->grad, w->nparams, true);
    d->ops->add(d->device, dst, src, w->nparams);
    return d->ops->merge(d->device, e);
}

static int queue_part(void *arg, size_t upto, struct err *e)
{
    struct step_on_device *d = arg;
    const struct weights *w = network_weights(d->step.config.network);

    return upto < w->nparams ? 0 : queue_addition(d, d->sum, w->grad, e);
}

static int queue_last_part(void *arg, size_t upto, struct err *e)
{
    struct step_on_device *d = arg;
    const struct weights *w = network_weights(d->step.config.network);

    if (upto < w->nparams)
        return 0;
    return queue_addition(d, w->grad, d->sum, e) || queue_buckets(d, upto, e) ? -1 : 0;
}

static int device_compute(struct step *s, const struct step_work *w, struct network_step run,
                          double *loss, struct err *e)
{
    const struct step_config *c = &s->config;
    struct step_on_device *d = device_of(s);
    struct weights *weights = network_weights(c->network);
    size_t n = w->range.end - w->range.begin, nbytes = weights->nparams * sizeof *d->sum;
    network_ready_f whole = c->accumulate > 1 ? queue_last_part
                            : c->comm->ops->queue_sum ? queue_buckets : NULL;
    struct device_update update;

    d->ncuts = 0;
    optim_plan(c->optim, weights, w->rate, c->clip_norm, &update);
    if (d->sum && d->ops->clear(d->device, d->sum, nbytes, e))
        return -1;
    for (int i = 0; i < c->accumulate; i++) {
        struct shard_range part = step_input_part(&s->input, n, i);
        bool last = i == c->accumulate - 1;
        d->queued[d->nqueued++ % QUEUED] =
            (struct queued_run){part.end - part.begin, w->items, d->nsteps, last};
        run.first = w->range.begin + part.begin;
        run.update = last ? &update : NULL;
        if (step_input_place(&s->input, part, e) ||
            network_train(c->network, (int)(part.end - part.begin), run, loss,
                          last ? whole : queue_part, d, e))
            return -1;
    }
    d->nsteps++;
    return 0;
}

/* The update is part of the run. */
static int device_apply(struct step *s, const struct step_work *w, struct err *e)
{
    (void)s, (void)w, (void)e;
    return 0;
}

static const float *device_votes(const struct step *s)
{
    const struct step_on_device *d = (const struct step_on_device *)s;

    return d->votes[(d->nsteps - 1 - DEVICE_SLOTS) % QUEUED];
}

static void device_drop_votes(struct step *s)
{
    memset(device_of(s)->votes, 0, sizeof device_of(s)->votes);
}

static void device_close(struct step *s)
{
    struct step_on_device *d = device_of(s);

    if (d->sum)
        d->ops->free(d->device, DEVICE_LOCAL, d->sum);
}

const struct step_kind step_device = {
    .size = sizeof(struct step_on_device),
    .open = device_open,
    .compute = device_compute,
    .apply = device_apply,
    .votes = device_votes,
    .drop_votes = device_drop_votes,
    .close = device_close,
};
