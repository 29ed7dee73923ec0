/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/design/design_expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/analysis/statistics/median.h"
#include "src/mem.h"
#include "src/rng.h"
#include "src/stat.h"

#define MOST_SERIAL 0.05

/* What random numbers are used for. */
enum { TIME = 71, NODE, QUALITY, QUALITY_SEED, SERIAL };

/* Returns whether a run, on neighbouring nodes, includes the first. */
static bool has_slow(const struct design_truth *t, int gpus, uint64_t study, uint64_t place)
{
    int width = t->nodes ? (gpus + t->per_node - 1) / t->per_node : 0;

    return t->nodes && rng_uniform(NODE, study, place) * (t->nodes - width + 1) < 1;
}

static double draw_quality(const struct design_truth *t, int gpus, uint64_t study, uint64_t place,
                           long seed)
{
    return 1 + DESIGN_EXPECT_MARGIN *
                   (t->scatter * rng_normal(QUALITY, study, place) +
                    t->scatter_seed * rng_normal(QUALITY_SEED, study, (uint64_t)seed) -
                    (t->loss ? t->loss(t->arg, gpus) : 0));
}

int design_expect_run(const struct design_truth *t, const struct design *d, int gpus, long seed,
                      bool limited, uint64_t study, struct results *table, struct err *e)
{
    uint64_t place = ((uint64_t)gpus << 32) + ((uint64_t)seed << 1) + limited;
    double epoch = t->time(t->arg, gpus) *
                   fmax(0.01, 1 + t->noise * rng_normal(TIME, study, place)) *
                   (has_slow(t, gpus, study, place) ? 1 + t->slow : 1);
    struct result r;

    result_init(&r);
    snprintf(r.run, sizeof r.run, "%d-%ld-%d", gpus, seed, limited);
    snprintf(r.engine, sizeof r.engine, "x");
    snprintf(r.metric, sizeof r.metric, "score");
    r.gpus = gpus, r.seed = seed, r.state = RESULT_DONE, r.limited = limited;
    r.median_epoch_s = epoch, r.epochs = t->epochs;
    r.nodes = t->per_node ? (gpus + t->per_node - 1) / t->per_node : 0;
    if (!limited) {
        r.training_time = (double)t->epochs * epoch;
        r.quality = draw_quality(t, gpus, study, place, seed);
    }
    if (!limited && d->shared) {
        if (!(r.curve = curve_create(1, 0, e)))
            return -1;
        r.curve->loss[0] = 1;
    }
    return results_add(table, &r, e);
}

/* Makes the runs of the rounds one after another. */
static int make_study(const struct design_truth *t, const struct design *d, uint64_t study,
                      struct design_round *rounds, struct results *table,
                      struct design_verdict *verdict, struct err *e)
{
    for (int n = 0; n < DESIGN_ROUNDS; n++) {
        if (design_next(d, table, rounds, (size_t)n, &rounds[n], verdict, e))
            return -1;
        if (verdict->state != DESIGN_CONTINUE)
            return n;
        for (size_t i = 0; i < rounds[n].nruns; i++) {
            const struct design_run *r = &rounds[n].runs[i];
            if (design_expect_run(t, d, r->gpus, r->seed, r->limited, study, table, e))
                return -1;
        }
        results_sort(table);
    }
    return DESIGN_ROUNDS;
}

int design_expect_study(const struct design_truth *t, const struct design *d, uint64_t study,
                        struct design_verdict *verdict, struct err *e)
{
    struct design own = *d;
    struct results table = {0};
    struct design_round *rounds = mem_alloc(DESIGN_ROUNDS, sizeof *rounds, e);

    own.rule.margin = DESIGN_EXPECT_MARGIN;
    own.rule.is_share = false;
    int n = rounds ? make_study(t, &own, study, rounds, &table, verdict, e) : -1;
    free(rounds);
    results_destroy(&table);
    return n;
}

/* The seconds of a base case's epoch, the base case, and a serial part. */
struct amdahl {
    double whole, base, serial;
};

static double amdahl(const void *arg, int gpus)
{
    const struct amdahl *a = arg;

    return a->whole * (a->serial + (1 - a->serial) * a->base / gpus);
}

int design_expect(const struct design *d, struct design_cost *dst, struct err *e)
{
    struct design own = *d;
    struct amdahl law = {d->whole_s > 0 ? d->whole_s : 1, d->counts[0], 0};
    struct design_truth t = {.time = amdahl, .arg = &law, .epochs = 1,
                             .noise = DECISION_TIME_SCATTER, .scatter = sqrt(0.5)};
    double hours[DESIGN_EXPECT_STUDIES], rounds[DESIGN_EXPECT_STUDIES];
    size_t n = DESIGN_EXPECT_STUDIES, decided = 0;

    own.max_gpu_hours = INFINITY;
    own.whole_s = law.whole;
    own.epochs = 1;
    for (size_t i = 0; i < n; i++) {
        struct design_verdict v;
        law.serial = MOST_SERIAL * rng_uniform(SERIAL, i, 0);
        int made = design_expect_study(&t, &own, i, &v, e);
        if (made < 0)
            return -1;
        hours[i] = v.gpu_hours;
        rounds[i] = made;
        decided += v.state != DESIGN_UNDECIDED && v.gpu_hours <= d->max_gpu_hours;
    }
    stat_sort(hours, n);
    stat_sort(rounds, n);
    *dst = (struct design_cost){median_of_sorted(hours, n), hours[n * 9 / 10],
                                (double)decided / (double)n, median_of_sorted(rounds, n)};
    return 0;
}
