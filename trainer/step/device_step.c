/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/device_step.h"

#include <math.h>
#include <string.h>

#include "trainer/run/session.h"

/* One stream for all sums between the devices, so that they come in the same order everywhere. */
static int sum_on_device(void *arg, double *values, size_t n, struct err *e)
{
    struct session *s = arg;
    struct device *d;
    const struct device_ops *ops = network_device_ops(s->network, &d);
    void *stream = ops->branch(d, e);

    return !stream || s->comm->ops->queue_sum(s->comm, stream, values, n, REDUCE_SUM_DOUBLE, e) ||
                   ops->merge(d, e)
               ? -1
               : 0;
}

static int watch_device(void *arg, double waited_s, struct err *e)
{
    struct session *s = arg;

    return s->comm->ops->check(s->comm, waited_s, e);
}

static void note_run(void *arg, const struct device_sums *sums)
{
    struct session *s = arg;
    struct linked *l = &s->linked;

    if (!l->steps)
        return;
    size_t i = l->ndone++ % LINKED_STEPS, at = l->queued[i].step % LINKED_STEPS;
    bool counts = step_has_noise(s) && isfinite(sums->own_square) && isfinite(sums->square);
    if (counts) /* a step in fp16 may be left out */
        gradient_noise_add_batch(&s->noise, sums->own_square, l->queued[i].n, l->queued[i].items);
    if (counts && l->queued[i].last)
        gradient_noise_add_step(&s->noise, sums->square, l->queued[i].items);
    memcpy(l->votes[at], sums->votes, sizeof l->votes[at]);
}

/* Numbers in the device's memory, in its second stream; those of a single replica are their sum. */
static int queue_sum(struct session *s, void *stream, void *values, size_t n, enum reduce_op op,
                     struct err *e)
{
    struct comm *c = s->comm;

    return c->ops->queue_sum ? c->ops->queue_sum(c, stream, values, n, op, e) : 0;
}

/* The gradients up to there: their sums go on beside the rest of backward. */
static int queue_buckets(void *arg, size_t upto, struct err *e)
{
    struct step_reduction *r = arg;
    struct session *s = r->session;
    const struct weights *w = network_weights(s->network);
    const struct gradient_cuts *cuts = &s->exchange.cuts;
    struct device *d;
    const struct device_ops *ops = network_device_ops(s->network, &d);
    bool whole = s->config->train.accumulate == 1;

    for (; r->ncuts < cuts->n && cuts->ends[r->ncuts] <= upto; r->ncuts++) {
        size_t begin = r->ncuts ? cuts->ends[r->ncuts - 1] : 0, n = cuts->ends[r->ncuts] - begin;
        void *stream = ops->branch(d, e);
        if (!stream)
            return -1;
        if (step_has_noise(s) && whole)
            ops->square(d, w->grad + begin, n, true);
        if (queue_sum(s, stream, w->grad + begin, n, REDUCE_SUM_FLOAT, e))
            return -1;
        if (step_has_noise(s))
            ops->square(d, w->grad + begin, n, false);
    }
    if (upto < w->nparams)
        return 0;
    void *stream = ops->branch(d, e);
    return !stream || queue_sum(s, stream, ops->votes(d), 2, REDUCE_SUM_FLOAT, e) || ops->merge(d, e)
               ? -1
               : 0;
}

/* One of several batches of a step is done: dst += src, of its gradients and those of the batches before. */
static int queue_sum_of_parts(struct session *s, float *dst, const float *src, struct err *e)
{
    const struct weights *w = network_weights(s->network);
    struct device *d;
    const struct device_ops *ops = network_device_ops(s->network, &d);

    if (!ops->branch(d, e))
        return -1;
    ops->square(d, w->grad, w->nparams, true);
    ops->add(d, dst, src, w->nparams);
    return ops->merge(d, e);
}

static int queue_part(void *arg, size_t upto, struct err *e)
{
    const struct step_reduction *r = arg;
    struct session *s = r->session;
    const struct weights *w = network_weights(s->network);

    return upto < w->nparams ? 0 : queue_sum_of_parts(s, s->sum, w->grad, e);
}

/* The last of them. */
static int queue_last_part(void *arg, size_t upto, struct err *e)
{
    const struct step_reduction *r = arg;
    struct session *s = r->session;
    const struct weights *w = network_weights(s->network);

    if (upto < w->nparams)
        return 0;
    return queue_sum_of_parts(s, w->grad, s->sum, e) || queue_buckets(arg, upto, e) ? -1 : 0;
}

/* All of a step in the device's queue. */
int device_step_queue(struct session *s, size_t n, size_t items, struct network_step step,
                      struct step_reduction *reduction, struct err *e)
{
    int parts = s->config->train.accumulate;
    struct linked *l = &s->linked;
    struct device *d;
    const struct device_ops *ops = network_device_ops(s->network, &d);
    network_ready_f whole = s->comm->ops->queue_sum ? queue_buckets : NULL;
    struct network_step part = step;

    if (parts > 1 && ops->clear(d, s->sum, network_weights(s->network)->nparams * sizeof *s->sum, e))
        return -1;
    for (int i = 0; i < parts; i++) {
        struct shard_range r = shard_eval(n, parts, i);
        bool last = i == parts - 1;
        size_t k = l->nqueued++ % LINKED_STEPS;
        l->queued[k].n = r.end - r.begin;
        l->queued[k].items = items;
        l->queued[k].step = s->at.step;
        l->queued[k].last = last;
        part.first = step.first + r.begin;
        part.update = last ? step.update : NULL;
        if ((parts > 1 && r.end > r.begin && step_place_images(s, r.begin, r.end, e)) ||
            network_train(s->network, (int)(r.end - r.begin), part, &s->at.loss,
                          !last ? queue_part : parts > 1 ? queue_last_part : whole, reduction, e))
            return -1;
    }
    return 0;
}

/* Steps need nothing of the host then. */
void device_step_link(struct session *s)
{
    bool sums = s->comm->ops->queue_sum != NULL;
    struct network_link link = {sums ? sum_on_device : NULL, sums ? watch_device : NULL, note_run, s};

    network_set_link(s->network, &link);
    s->linked = (struct linked){.steps = true};
}

bool device_step_is_possible(const struct session *s)
{
    return (s->comm->ops->queue_sum || s->comm->size == 1) && network_device(s->network);
}

/* Where their sums cost least. */
int device_step_place_gradients(struct session *s, struct err *e)
{
    struct weights *w = network_weights(s->network);
    size_t nbytes = w->nparams * sizeof *w->grad;
    struct device *d;
    const struct device_ops *ops = network_device_ops(s->network, &d);
    void *grad;

    if (s->comm->ops->queue_place(s->comm, nbytes, &grad, e) ||
        (grad && ops->clear(d, grad, nbytes, e)))
        return -1;
    if (grad)
        weights_place_grad(w, grad);
    return 0;
}
