/* SPDX-License-Identifier: BSD-3-Clause */
/* A step as work that is queued on a device, with its sums over replicas and its update. */
#include "src/base.h"

#include <math.h>

#include "trainer/step/step_internal.h"

/* A queued run of the network: a step, or one of its parts. */
struct queued_run {
    size_t images, items;
    size_t step;
    bool last; /* of its step */
};

/* The host queues runs up to DEVICE_SLOTS ahead of their results. So decisions of all replicas use
 * votes that are DEVICE_SLOTS steps old. */
struct step_on_device {
    struct step step;
    struct device *device;
    const struct device_ops *ops;
    float *sum;    /* with several parts: the sum of their gradients, on the device */
    size_t begun;  /* the sums of the gradients [0, begun) are queued */
    uint64_t *shares; /* network_step.shares of the step's parts */
    struct queued_run queued[STEP_QUEUED]; /* ring of runs in flight */
    size_t nqueued, ndone;
};

static struct step_on_device *device_of(struct step *s)
{
    return (struct step_on_device *)s;
}

/* Queues a sum for batch norm, or of network_step.sums_loss_divisor. It does not wait for the sums
 * of gradients that are queued before it. */
static int sum_for_batch_norm(void *arg, double *values, size_t n, struct err *e)
{
    struct step_on_device *d = arg;
    struct comm *c = d->step.config.comm;
    void *stream = d->ops->branch(d->device, DEVICE_URGENT, e);

    return !stream || c->ops->queue_sum(c, stream, true, values, n, REDUCE_SUM_DOUBLE, e) ||
                   d->ops->merge(d->device, DEVICE_URGENT, e)
               ? -1
               : 0;
}

static int check_device_wait(void *arg, double waited_s, struct err *e)
{
    struct step *s = arg;

    return s->config.comm->ops->check(s->config.comm, waited_s, e);
}

/* network_link.largest */
static int find_largest(void *arg, double *value, struct err *e)
{
    struct step *s = arg;

    return comm_max_double(s->config.comm, value, 1, e);
}

/* network_link.done: handles the results of the oldest run in flight. */
static void add_results(void *arg, const struct device_sums *sums)
{
    struct step_on_device *d = arg;
    struct gradient_noise *noise = &d->step.epoch.noise;
    const struct queued_run *run = &d->queued[d->ndone++ % STEP_QUEUED];
    /* In a skipped fp16 step the gradients were not finite. */
    bool counts = d->step.has_noise && isfinite(sums->own_square) && isfinite(sums->square);

    if (counts)
        gradient_noise_add_batch(noise, sums->own_square, run->images, run->items);
    if (counts && run->last)
        gradient_noise_add_step(noise, sums->square, run->items);
    memcpy(d->step.votes[run->step % STEP_QUEUED], sums->votes, sizeof *d->step.votes);
}

static int device_open(struct step *s, struct err *e)
{
    struct step_on_device *d = device_of(s);
    struct network *network = s->config.network;
    struct weights *w = network_weights(network);
    bool sums = s->config.comm->ops->queue_sum != NULL;
    struct network_link link = {
        .sum = sums ? sum_for_batch_norm : NULL, .watch = sums ? check_device_wait : NULL,
        .done = add_results, .arg = d, .rank = s->config.comm->rank,
        .largest = find_largest};

    s->delay = DEVICE_SLOTS;
    d->shares = mem_zero((size_t)s->config.accumulate, sizeof *d->shares, e);
    if (!d->shares)
        return -1;
    d->ops = network_device_ops(network, &d->device);
    network_set_link(network, &link);
    if (s->config.accumulate > 1) {
        d->sum = d->ops->alloc(d->device, DEVICE_LOCAL, w->nparams * sizeof *d->sum, e);
        if (!d->sum)
            return -1;
    }
    return 0;
}

/* Queues a sum over the replicas of numbers in the device's memory, if there are several. */
static int queue_sum(struct step_on_device *d, void *stream, float *values, size_t n, struct err *e)
{
    struct comm *c = d->step.config.comm;

    return c->ops->queue_sum ? c->ops->queue_sum(c, stream, false, values, n, REDUCE_SUM_FLOAT, e)
                             : 0;
}

/* A network_ready_f: queues the sums of the buckets below upto in the second stream, beside the
 * rest of backward; at the end also that of the votes. */
static int queue_buckets(void *arg, size_t upto, struct err *e)
{
    struct step_on_device *d = arg;
    const struct step *s = arg;
    const struct weights *w = network_weights(s->config.network);

    if (upto == 0)
        d->begun = 0;
    for (size_t n; (n = step_bucket(s, d->begun, upto)) > 0; d->begun += n) {
        void *stream = d->ops->branch(d->device, DEVICE_BESIDE, e);
        if (!stream)
            return -1;
        if (s->has_noise && s->config.accumulate == 1)
            d->ops->square(d->device, w->grad + d->begun, n, true);
        if (queue_sum(d, stream, w->grad + d->begun, n, e))
            return -1;
        if (s->has_noise)
            d->ops->square(d->device, w->grad + d->begun, n, false);
    }
    if (upto < w->nparams)
        return 0;
    void *stream = d->ops->branch(d->device, DEVICE_BESIDE, e);
    return !stream || queue_sum(d, stream, d->ops->votes(d->device), STEP_VOTES, e) ||
                   d->ops->merge(d->device, DEVICE_BESIDE, e)
               ? -1
               : 0;
}

/* Queues the squared norm of a part's gradients, and dst += src, where one is these gradients and
 * the other the sum of earlier parts. */
static int queue_addition(struct step_on_device *d, float *dst, const float *src, struct err *e)
{
    const struct weights *w = network_weights(d->step.config.network);

    if (!d->ops->branch(d->device, DEVICE_BESIDE, e))
        return -1;
    d->ops->square(d->device, w->grad, w->nparams, true);
    d->ops->add(d->device, dst, src, w->nparams);
    return d->ops->merge(d->device, DEVICE_BESIDE, e);
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
    return queue_addition(d, w->grad, d->sum, e) || queue_buckets(d, 0, e) ||
                   queue_buckets(d, upto, e)
               ? -1
               : 0;
}

/* Returns a number for the images that each replica has in part i of a step of so many items. */
static uint64_t find_shares(const struct step *s, size_t items, int i)
{
    int size = s->config.comm->size;
    uint64_t hash = HASH_BEGIN;

    for (int r = 0; r < size; r++) {
        struct shard_range all = shard_eval(items, size, r);
        struct shard_range part = step_part(s, all.end - all.begin, i);
        size_t n = part.end - part.begin;

        hash = hash_bytes(hash, &n, sizeof n);
    }
    return hash | 1;
}

static int device_begin(struct step *s, const struct step_work *w, struct err *e)
{
    const struct step_config *c = &s->config;
    struct step_on_device *d = device_of(s);
    size_t n = 0;

    for (int i = 0; i < c->accumulate; i++)
        if (!step_is_idle(s, w->items, i))
            d->shares[n++] = find_shares(s, w->items, i);
    return network_begin_step(c->network, d->shares, n, e);
}

static int device_compute(struct step *s, const struct step_work *w, struct network_step run,
                          double *loss, struct err *e)
{
    const struct step_config *c = &s->config;
    struct step_on_device *d = device_of(s);
    struct weights *weights = network_weights(c->network);
    size_t n = w->range.end - w->range.begin, nbytes = weights->nparams * sizeof *d->sum;
    network_ready_f queue_last = c->accumulate > 1 ? queue_last_part
                                 : c->comm->ops->queue_sum ? queue_buckets : NULL;
    struct device_update update;

    optim_plan(c->optim, weights, w->rate, c->clip_norm, &update);
    if (d->sum && d->ops->clear(d->device, d->sum, nbytes, e))
        return -1;
    for (int i = 0, k = 0; i < c->accumulate; i++) {
        if (step_is_idle(s, w->items, i))
            continue;
        run.shares = d->shares[k++];
        struct shard_range part = step_part(s, n, i);
        bool last = i == c->accumulate - 1;
        d->queued[d->nqueued++ % STEP_QUEUED] =
            (struct queued_run){part.end - part.begin, w->items, s->nsteps, last};
        run.first = w->range.begin + part.begin;
        run.update = last ? &update : NULL;
        if (step_place(s, part, e) ||
            network_train(c->network, (int)(part.end - part.begin), run, loss,
                          last ? queue_last : queue_part, d, e))
            return -1;
    }
    return 0;
}

static void device_close(struct step *s)
{
    struct step_on_device *d = device_of(s);

    if (d->sum)
        d->ops->free(d->device, DEVICE_LOCAL, d->sum);
    free(d->shares);
}

const struct step_kind step_device = {
    .size = sizeof(struct step_on_device),
    .open = device_open,
    .begin = device_begin,
    .compute = device_compute,
    .close = device_close,
};
