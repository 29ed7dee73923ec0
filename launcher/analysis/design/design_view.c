/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/design/design.h"

#include <math.h>
#include <stdlib.h>

#include "launcher/analysis/analysis.h"
#include "launcher/analysis/design/design_internal.h"
#include "src/mem.h"

static const struct series_point *find_point(const struct design_view *v, int gpus)
{
    return v->series ? series_find(v->series, gpus) : NULL;
}

static int analyse(struct design_view *v, struct err *e)
{
    struct decision_rule rule = v->design->rule;

    if (!v->list.count || v->list.items[0].points[0].gpus != v->design->counts[0])
        return 0;
    v->series = &v->list.items[0];
    rule.looks = &v->looks;
    if (prediction_fit(v->model, v->series, QUANTITY_STEADY_EPOCH, e))
        return -1;
    return v->series->npoints < 2 ? 0
                                  : decision_compute(&v->decision, v->series, &rule, v->model, e);
}

void design_view_looks(const struct design *d, const struct design_round *rounds, size_t nrounds,
                       struct quality_looks *dst)
{
    size_t pairs[SEQUENTIAL_LOOKS], nlooks = design_view_pairs(d, pairs);
    struct sequential plan = {0};

    *dst = (struct quality_looks){0};
    for (size_t i = 0; i < nrounds; i++) {
        const struct design_round *r = &rounds[i];
        size_t k = 0;
        if (!r->tested || !r->family || !r->pairs || r->pairs > d->nseeds)
            continue;
        if (!dst->family) {
            dst->family = r->family;
            sequential_plan(&plan, DESIGN_ALPHA / (double)r->family, pairs, nlooks);
        }
        while (k < dst->n && dst->items[k].gpus != r->tested)
            k++;
        if (k == QUALITY_LOOKS || r->look > nlooks)
            continue;
        dst->n = k < dst->n ? dst->n : k + 1;
        dst->items[k] = (struct quality_look){
            .gpus = r->tested, .look = r->look, .pairs = r->pairs,
            .last_seed = d->seeds[r->pairs - 1],
            .alpha = r->look ? 2 * plan.level[r->look - 1] : 0, .shared = d->shared};
    }
}

int design_view_create(struct design_view *v, const struct design *d, const struct results *table,
                       const struct design_round *rounds, size_t nrounds, struct err *e)
{
    struct series_facts facts = d->facts;
    size_t pairs[SEQUENTIAL_LOOKS], nlooks = design_view_pairs(d, pairs);

    facts.base = d->counts[0];
    *v = (struct design_view){.design = d, .table = table, .rounds = rounds, .nrounds = nrounds};
    design_view_looks(d, rounds, nrounds, &v->looks);
    v->family = v->looks.n ? v->looks.family : 0;
    if (v->family)
        sequential_plan(&v->plan, DESIGN_ALPHA / (double)v->family, pairs, nlooks);
    v->model = mem_zero(1, sizeof *v->model, e);
    if (!v->model || series_list_compute(&v->list, "", table, &facts, NULL, e) || analyse(v, e)) {
        design_view_destroy(v);
        return -1;
    }
    return 0;
}

void design_view_destroy(struct design_view *v)
{
    decision_destroy(&v->decision);
    series_list_destroy(&v->list);
    free(v->model);
}

size_t design_view_asked(const struct design_view *v, int gpus, bool limited)
{
    size_t n = 0;

    for (size_t i = 0; i < v->nrounds; i++)
        for (size_t k = 0; k < v->rounds[i].nruns; k++)
            n += v->rounds[i].runs[k].gpus == gpus && v->rounds[i].runs[k].limited == limited;
    return n;
}

static bool is_asked(const struct design_view *v, int gpus, long seed, bool limited)
{
    for (size_t i = 0; i < v->nrounds; i++)
        for (size_t k = 0; k < v->rounds[i].nruns; k++) {
            const struct design_run *r = &v->rounds[i].runs[k];
            if (r->gpus == gpus && r->limited == limited && r->seed == seed)
                return true;
        }
    return false;
}

enum design_speed design_view_speed(const struct design_view *v, int gpus)
{
    const struct series_point *p = find_point(v, gpus);

    if (!p)
        return design_view_asked(v, gpus, true) + design_view_asked(v, gpus, false)
                   ? DESIGN_SLOW : DESIGN_UNMEASURED;
    if (p == v->series->points)
        return DESIGN_EFFICIENT;
    switch (v->decision.time[p - v->series->points]) {
    case DECISION_PASSES:
        return DESIGN_EFFICIENT;
    case DECISION_FAILS:
        return DESIGN_SLOW;
    default:
        return DESIGN_OPEN;
    }
}

double design_view_speedup(const struct design_view *v, int gpus)
{
    return series_speedup(v->series, find_point(v, gpus))->value;
}

int design_view_fastest(const struct design_view *v)
{
    int best = v->design->counts[0];

    for (size_t i = 1; i < v->design->ncounts; i++) {
        int gpus = v->design->counts[i];
        if (design_view_speed(v, gpus) == DESIGN_EFFICIENT &&
            design_view_speedup(v, gpus) > design_view_speedup(v, best))
            best = gpus;
    }
    return best;
}

static double run_seconds(const struct result *r)
{
    double sum = (r->limited == 1 && r->startup_s > 0 ? r->startup_s : 0) +
                 (r->limited == 1 && r->stage_s > 0 ? r->stage_s : 0);

    if (r->state != RESULT_DONE)
        return NAN;
    if (r->limited != 1 || !isnan(r->job_s))
        return quantity_of(r, QUANTITY_WHOLE);
    if (r->limited_s > 0) /* its curve is scaled to epochs */
        return sum + r->limited_s;
    for (size_t i = 0; r->curve && i < r->curve->n; i++)
        sum += r->curve->seconds[i];
    return r->curve && r->curve->n ? sum : NAN;
}

static const struct result *find_result(const struct design_view *v, const struct design_run *run)
{
    for (size_t i = 0; i < v->table->count; i++) {
        const struct result *r = &v->table->rows[i];
        if (r->gpus == run->gpus && r->seed == run->seed && (r->limited == 1) == run->limited)
            return r;
    }
    return NULL;
}

/* Returns the mean seconds of the short runs of a count, or of all (gpus 0); NaN if unknown. */
static double mean_short(const struct design_view *v, int gpus)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < v->table->count; i++) {
        const struct result *r = &v->table->rows[i];
        double seconds = r->limited == 1 && (!gpus || r->gpus == gpus) ? run_seconds(r) : NAN;
        if (!isnan(seconds))
            sum += seconds, n++;
    }
    return n ? sum / (double)n : NAN;
}

static double expect_short(const struct design_view *v, int gpus)
{
    double own = mean_short(v, gpus), any = isnan(own) ? mean_short(v, 0) : own;

    return isnan(any) ? v->design->short_s : any;
}

/* Returns T(gpus) / T(base) of the steady epoch. */
static double time_ratio(const struct design_view *v, int gpus)
{
    const struct series_point *p = find_point(v, gpus);
    int base = v->design->counts[0];

    if (p && series_speedup(v->series, p)->value > 0)
        return 1 / series_speedup(v->series, p)->value;
    return v->series && v->model->fitted ? 1 / model_speedup(v->model, base, gpus).expected
                                         : (double)base / gpus;
}

static double expect_whole(const struct design_view *v, int gpus)
{
    const struct series_point *p = find_point(v, gpus),
                              *base = v->series ? v->series->points : NULL;

    if (p && p->q[QUANTITY_WHOLE].count)
        return p->q[QUANTITY_WHOLE].median;
    double epochs = base ? (double)v->design->epochs * base->q[QUANTITY_STEADY_EPOCH].median : 0;
    double whole = base && base->q[QUANTITY_WHOLE].count ? base->q[QUANTITY_WHOLE].median
                   : epochs > 0 && !v->series->stepped ? epochs : v->design->whole_s;
    return whole * time_ratio(v, gpus);
}

void design_view_add(const struct design_view *v, struct design_round *round, int gpus, size_t n,
                     bool limited)
{
    double seconds = limited ? expect_short(v, gpus) : expect_whole(v, gpus);

    for (size_t i = 0; i < n && i < v->design->nseeds && round->nruns < DESIGN_RUNS; i++) {
        long seed = v->design->seeds[i];
        if (is_asked(v, gpus, seed, limited))
            continue;
        round->runs[round->nruns++] =
            (struct design_run){gpus, seed, limited, gpus * seconds / 3600};
        round->gpu_hours += gpus * seconds / 3600;
    }
}

double design_view_spent(const struct design_view *v)
{
    double hours = 0;

    for (size_t i = 0; i < v->nrounds; i++)
        for (size_t k = 0; k < v->rounds[i].nruns; k++) {
            const struct design_run *run = &v->rounds[i].runs[k];
            const struct result *r = find_result(v, run);
            double seconds = r ? run_seconds(r) : NAN;
            hours += isnan(seconds) ? run->gpu_hours : run->gpus * seconds / 3600;
        }
    return hours;
}

size_t design_view_pairs(const struct design *d, size_t pairs[SEQUENTIAL_LOOKS])
{
    size_t n = 0;

    for (size_t i = 0; i < d->nlooks; i++) {
        pairs[n++] = d->looks[i] < d->nseeds ? d->looks[i] : d->nseeds;
        if (d->looks[i] >= d->nseeds)
            break;
    }
    return n;
}
