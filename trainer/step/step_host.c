/* SPDX-License-Identifier: BSD-3-Clause */
/* A step on the host. */
#include "src/base.h"

#include "src/clock.h"
#include "trainer/step/step_internal.h"

struct step_on_host {
    struct step step;
    float *sum;    /* with several parts: the sum of their gradients */
    size_t begun;  /* the sums of the gradients [0, begun) are started */
    double square; /* squared norm of this replica's gradients among these */
};

static struct step_on_host *host_of(struct step *s)
{
    return (struct step_on_host *)s;
}

static int sum_for_batch_norm(void *arg, double *values, size_t n, struct err *e)
{
    struct step *s = arg;
    double began = clock_now();
    int rc = s->config.comm->ops->sum_small(s->config.comm, values, n, e);
    double ended = clock_now();

    s->comm_s += ended - began;
    trace_span(s->config.trace, TRACE_BATCH_NORM, "sum", began, ended);
    return rc;
}

static int place_gradients(const struct step_config *c, struct weights *w, struct err *e)
{
    float *grad = NULL;

    if (comm_reduce_buffer(c->comm, w->nparams, &grad, e))
        return -1;
    if (grad)
        weights_place_grad(w, grad);
    return 0;
}

static int host_open(struct step *s, struct err *e)
{
    const struct step_config *c = &s->config;
    struct weights *w = network_weights(c->network);

    if (c->comm->size > 1)
        network_set_sum(c->network, sum_for_batch_norm, s);
    if (c->accumulate > 1) {
        host_of(s)->sum = mem_alloc(w->nparams, sizeof *w->grad, e);
        if (!host_of(s)->sum)
            return -1;
    }
    return place_gradients(c, w, e);
}

/* A network_ready_f: starts the sums of the buckets below upto. The calls may differ between ranks
 * (a rank without images has one), but not the buckets. */
static int start_buckets(void *arg, size_t upto, struct err *e)
{
    struct step_on_host *h = arg;
    struct step *s = arg;
    struct comm *c = s->config.comm;
    const struct weights *w = network_weights(s->config.network);

    for (size_t n; (n = step_bucket(s, h->begun, upto)) > 0; h->begun += n) {
        if (c->size > 1 && s->config.accumulate == 1)
            h->square += gradient_noise_square(w->grad + h->begun, n);
        double began = clock_now();
        if (comm_start_sum_float(c, w->grad + h->begun, n, e))
            return -1;
        s->comm_s += clock_now() - began;
    }
    return 0;
}

/* Computes all parts, even those that are empty here but not on all replicas: synchronised batch
 * norm sums over the replicas in each, so every replica needs the same number. Leaves the sum of
 * their gradients in weights->grad, and starts to sum it over the replicas. */
static int compute_parts(struct step *s, const struct step_work *w, struct network_step run,
                         double *loss, struct err *e)
{
    struct network *network = s->config.network;
    const struct weights *weights = network_weights(network);
    float *sum = host_of(s)->sum;

    memset(sum, 0, weights->nparams * sizeof *sum);
    for (int i = 0; i < s->config.accumulate; i++) {
        if (step_is_idle(s, w->items, i))
            continue;
        struct shard_range part = step_part(s, w->range.end - w->range.begin, i);
        size_t n = part.end - part.begin;
        run.first = w->range.begin + part.begin;
        if (step_place(s, part, e) ||
            network_train(network, (int)n, run, loss, NULL, NULL, e))
            return -1;
        double square = gradient_noise_square(weights->grad, weights->nparams);
        gradient_noise_add_batch(&s->epoch.noise, square, n, w->items);
        for (size_t k = 0; k < weights->nparams; k++)
            sum[k] += weights->grad[k];
    }
    memcpy(weights->grad, sum, weights->nparams * sizeof *sum);
    return start_buckets(s, weights->nparams, e);
}

static int host_compute(struct step *s, const struct step_work *w, struct network_step run,
                        double *loss, struct err *e)
{
    struct step_on_host *h = host_of(s);
    struct comm *c = s->config.comm;
    size_t n = w->range.end - w->range.begin;
    float *votes = s->votes[s->nsteps % STEP_QUEUED];

    h->begun = 0;
    h->square = 0;
    memcpy(votes, w->votes, sizeof w->votes);
    if (comm_start_sum_float(c, votes, STEP_VOTES, e))
        return -1;
    if (s->config.accumulate > 1)
        return compute_parts(s, w, run, loss, e);
    network_ready_f ready = c->size > 1 ? start_buckets : NULL;
    if (network_train(s->config.network, (int)n, run, loss, ready, h, e))
        return -1;
    gradient_noise_add_batch(&s->epoch.noise, h->square, n, w->items);
    return 0;
}

static void host_apply(struct step *s, const struct step_work *w)
{
    const struct step_config *c = &s->config;
    struct weights *weights = network_weights(c->network);

    if (s->has_noise)
        gradient_noise_add_step(&s->epoch.noise,
                                gradient_noise_square(weights->grad, weights->nparams), w->items);
    optim_step(c->optim, weights, w->rate, c->clip_norm);
}

static void host_close(struct step *s)
{
    free(host_of(s)->sum);
}

const struct step_kind step_host = {
    .size = sizeof(struct step_on_host),
    .open = host_open,
    .compute = host_compute,
    .apply = host_apply,
    .close = host_close,
};
