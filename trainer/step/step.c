/* SPDX-License-Identifier: BSD-3-Clause */
/* What both kinds of step have in common: loading images, the loss's divisor, times and trace. */
#include "config.h"
#include "trainer/step/step.h"

#include <stdlib.h>

#include "src/clock.h"
#include "src/mem.h"
#include "src/rng.h"
#include "trainer/metric/score.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/step/step_kind.h"

#define STREAM_DROPOUT (UINT64_C(0x44524f50) << 32)

static size_t score_nbytes(const struct step *s)
{
    return score_size(s->config.network_config->classes) * sizeof *s->epoch.score;
}

static int open_step(struct step *s, struct err *e)
{
    const struct step_config *c = &s->config;

    if (network_device(c->network)) {
        if (evaluate_alloc(c->network, &s->scores, score_nbytes(s), e))
            return -1;
        s->epoch.score = s->scores.host;
    }
    s->input = (struct step_input){.network = c->network, .parts = c->accumulate};
    return s->kind->open(s, e);
}

struct step *step_create(const struct step_config *config, struct err *e)
{
    const struct step_kind *kind = network_device(config->network) ? &step_device : &step_host;
    struct step *s = mem_zero(1, kind->size, e);

    if (!s)
        return NULL;
    s->kind = kind;
    s->config = *config;
    s->has_noise = config->comm->size > 1 || config->accumulate > 1;
    if (open_step(s, e)) {
        step_destroy(s);
        return NULL;
    }
    return s;
}

void step_destroy(struct step *s)
{
    if (!s)
        return;
    s->kind->close(s);
    mirror_close(&s->scores);
    free(s);
}

struct step_epoch *step_begin_epoch(struct step *s, struct err *e)
{
    if (network_begin_epoch(s->config.network, e))
        return NULL;
    s->epoch.noise = (struct gradient_noise){0};
    if (s->epoch.score && mirror_clear(&s->scores, e))
        return NULL;
    return &s->epoch;
}

size_t step_bucket(const struct step *s, size_t begin, size_t upto)
{
    size_t left = network_weights(s->config.network)->nparams - begin;
    size_t n = left < s->config.bucket ? left : s->config.bucket;

    return begin + n <= upto ? n : 0;
}

/* Sets run->loss_divisor unless the caller's value is right: there is one class and every pixel has
 * weight 1, or the loss is Dice alone, which does not use the weight. */
static int find_loss_divisor(struct step *s, struct network_step *run, struct err *e)
{
    const struct network_config *c = s->config.network_config;

    if (c->loss == LOSS_DICE || (c->classes <= 1 && !c->class_weights && !s->config.ignores))
        return 0;
    run->loss_divisor = network_loss_divisor(s->config.network, &s->input.batch);
    run->sums_loss_divisor = s->kind == &step_device;
    return run->sums_loss_divisor ? 0 : comm_sum_double(s->config.comm, &run->loss_divisor, 1, e);
}

struct step_times {
    double began, waited, loaded, computed, summed, ended; /* clock_now() */
};

static void add_times(const struct step *s, const struct step_times *t, struct step_totals *totals)
{
    const struct comm *comm = s->config.comm;
    struct trace *trace = s->config.trace;

    totals->data_s += t->loaded - t->waited;
    totals->comm_s += s->comm_s + (t->summed - t->computed);
    totals->compute_s += t->waited - t->began + t->computed - t->loaded - s->comm_s +
                         (t->ended - t->summed);
    for (size_t i = 0; i < comm->nspans; i++)
        trace_span(trace, TRACE_GRADIENTS, "sum", comm->spans[i].began, comm->spans[i].ended);
    trace_span(trace, TRACE_STEPS, "images", t->waited, t->loaded);
    trace_span(trace, TRACE_STEPS, "forward, backward", t->loaded, t->computed);
    trace_span(trace, TRACE_STEPS, "wait for sums", t->computed, t->summed);
    trace_span(trace, TRACE_STEPS, "update", t->summed, t->ended);
}

int step_train(struct step *s, const struct step_work *w, struct step_totals *t, struct err *e)
{
    const struct step_config *c = &s->config;
    struct network_step run = {
        .images = (double)w->items,
        .loss_divisor = (double)w->items * (double)network_targets(c->network),
        .noise = rng_u64(c->seed, STREAM_DROPOUT, (uint64_t)w->epoch), .first = w->range.begin,
        .scaling = c->optim->scaling, .score = s->scores.there,
        .votes = {w->votes[STEP_LEAVE], w->votes[STEP_CHECKPOINT]}};
    struct step_times times = {.began = clock_now()};

    if ((s->kind->begin && s->kind->begin(s, w, e)) || network_await(c->network, e))
        return -1;
    times.waited = clock_now();
    if (step_input_load(&s->input, w->loader, e) || find_loss_divisor(s, &run, e))
        return -1;
    times.loaded = clock_now();
    s->comm_s = 0;
    if (s->kind->compute(s, w, run, &t->loss, e))
        return -1;
    times.computed = clock_now();
    if (comm_wait(c->comm, e))
        return -1;
    times.summed = clock_now();
    if (s->kind->apply)
        s->kind->apply(s, w);
    times.ended = clock_now();
    add_times(s, &times, t);
    return 0;
}

int step_wait(struct step *s, struct step_totals *t, struct err *e)
{
    return network_wait(s->config.network, &t->loss, e) || mirror_pull(&s->scores, e) ? -1 : 0;
}

const float *step_votes(const struct step *s)
{
    return s->kind->votes(s);
}

void step_drop_votes(struct step *s)
{
    s->kind->drop_votes(s);
}
