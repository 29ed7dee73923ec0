/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/design/design.h"

#include "launcher/analysis/analysis.h"
#include "launcher/analysis/design/design_internal.h"
#include "launcher/analysis/statistics/distribution.h"
#include "src/stat.h"

static const size_t speed_looks[DESIGN_SPEED_NLOOKS] = DESIGN_SPEED_LOOKS;

static const struct series_point *find_point(const struct design_view *v, int gpus)
{
    return v->series ? series_find(v->series, gpus) : NULL;
}

/* ---- efficiency by short runs within rounds ---- */

/* A short run that has a result. */
struct short_run {
    size_t round;
    bool repeat;  /* its round repeats outliers */
    bool outlier; /* mark_outliers */
    double x;     /* the logarithm of its time */
};

/* Lists those of a count. Returns their number; dst is for DESIGN_SEEDS. */
static size_t collect_short_runs(const struct design_view *v, int gpus, struct short_run *dst)
{
    const struct series_point *p = find_point(v, gpus);
    size_t n = 0;

    for (size_t i = 0; p && i < v->nrounds; i++)
        for (size_t k = 0; k < v->rounds[i].nruns; k++) {
            const struct design_run *run = &v->rounds[i].runs[k];
            for (size_t j = 0; run->limited && run->gpus == gpus && j < p->nruns; j++) {
                double time = quantity_of(&p->rows[j], QUANTITY_STEADY_EPOCH);
                if (p->rows[j].limited == 1 && p->rows[j].seed == run->seed && time > 0 &&
                    n < DESIGN_SEEDS)
                    dst[n++] = (struct short_run){i, v->rounds[i].repeats, false, log(time)};
            }
        }
    return n;
}

static double median_of_round(const struct short_run *s, size_t n, size_t round)
{
    double x[DESIGN_SEEDS];
    size_t m = 0;

    for (size_t i = 0; i < n; i++)
        if (s[i].round == round)
            x[m++] = s[i].x;
    return m ? stat_median(x, m) : NAN;
}

/* Divides the time of each run by the median of the base runs of its round, and marks the runs that
 * differ by more than DESIGN_OUTLIER from the median of all. Returns their number. */
static size_t mark_outliers(struct short_run *s, size_t n, const struct short_run *base,
                            size_t nbase)
{
    double x[DESIGN_SEEDS];
    size_t outliers = 0, known = 0;

    for (size_t i = 0; i < n; i++) {
        s[i].x -= median_of_round(base, nbase, s[i].round);
        if (!isnan(s[i].x))
            x[known++] = s[i].x;
    }
    double median = known > 2 ? stat_median(x, known) : NAN;
    for (size_t i = 0; i < n; i++) {
        s[i].outlier = fabs(s[i].x - median) > log1p(DESIGN_OUTLIER);
        outliers += s[i].outlier;
    }
    return outliers;
}

/* The runs of a count in a round, without outliers. */
struct side {
    double n, mean, squares;
};

static struct side side_of(const struct short_run *s, size_t n, size_t round)
{
    struct side a = {0};

    for (size_t i = 0; i < n; i++)
        if (s[i].round == round && !s[i].outlier && !isnan(s[i].x)) {
            double d = s[i].x - a.mean;
            a.mean += d / ++a.n;
            a.squares += d * (s[i].x - a.mean);
        }
    return a;
}

/* Returns the speed-up of s over base: the mean difference of logarithms within rounds, weighted by
 * the information of each, with an interval of the two-sided level alpha by Student's t, whose
 * degrees of freedom are Welch's. Both are relative to the base runs' median in each round. */
static struct ratio combine(const struct short_run *base, size_t nbase, const struct short_run *s,
                            size_t n, size_t nrounds, double alpha)
{
    double weights = 0, sum = 0, variance[2] = {0}, squares[2] = {0}, df[2] = {0};
    struct ratio r = {NAN, interval_none(), NAN, NAN};

    for (size_t i = 0; i < nrounds; i++) {
        const struct side side[2] = {side_of(base, nbase, i), side_of(s, n, i)};
        double w = side[0].n * side[1].n / (side[0].n + side[1].n);
        if (!(w > 0))
            continue;
        weights += w;
        sum += w * (side[0].mean - side[1].mean);
        for (int k = 0; k < 2; k++) {
            variance[k] += w * w / side[k].n;
            squares[k] += side[k].squares;
            df[k] += side[k].n - 1;
        }
    }
    if (!(weights > 0))
        return r;
    r.value = exp(sum / weights);
    if (df[0] < 1 || df[1] < 1)
        return r;
    for (int k = 0; k < 2; k++)
        variance[k] *= squares[k] / df[k] / (weights * weights);
    double both = variance[0] + variance[1],
           welch = both > 0 ? both * both / (variance[0] * variance[0] / df[0] +
                                             variance[1] * variance[1] / df[1]) : df[0] + df[1],
           half = -distribution_t_quantile(alpha / 2, welch) * sqrt(both);
    r.interval = (struct interval){exp(sum / weights - half), exp(sum / weights + half),
                                   INTERVAL_LEVEL, INTERVAL_T};
    return r;
}

/* Lists the short runs of a count and of the base case, marked. Outliers are excluded from the
 * comparison where they are a fifth of the count's runs or fewer; more are how the count runs.
 * Returns how many there are in rounds that do not repeat others. */
static size_t list_short_runs(const struct design_view *v, int gpus, struct short_run *s, size_t *n,
                              struct short_run *base, size_t *nbase)
{
    struct short_run raw[DESIGN_SEEDS];
    size_t outliers = 0;

    *nbase = collect_short_runs(v, v->design->counts[0], base);
    *n = collect_short_runs(v, gpus, s);
    size_t all = mark_outliers(s, *n, base, *nbase);
    for (size_t i = 0; i < *n; i++) {
        outliers += s[i].outlier && !s[i].repeat;
        s[i].outlier &= 5 * all <= *n;
    }
    memcpy(raw, base, *nbase * sizeof *raw);
    mark_outliers(base, *nbase, raw, *nbase);
    return outliers;
}

size_t design_view_asked(const struct design_view *v, int gpus, bool limited, bool repeats)
{
    size_t n = 0;

    for (size_t i = 0; i < v->nrounds; i++)
        for (size_t k = 0; v->rounds[i].repeats == repeats && k < v->rounds[i].nruns; k++)
            n += v->rounds[i].runs[k].gpus == gpus && v->rounds[i].runs[k].limited == limited;
    return n;
}

size_t design_view_pending(const struct design_view *v, int gpus)
{
    struct short_run s[DESIGN_SEEDS], base[DESIGN_SEEDS];
    size_t n, nbase, outliers = list_short_runs(v, gpus, s, &n, base, &nbase),
           repeated = design_view_asked(v, gpus, true, true);

    return outliers > repeated ? outliers - repeated : 0;
}

/* Returns the last look that so many short runs of a count allow, from 1, or 0. */
static size_t find_look(size_t asked)
{
    size_t look = 0;

    while (look < DESIGN_SPEED_NLOOKS && speed_looks[look] <= asked)
        look++;
    return look;
}

size_t design_view_next_look(const struct design_view *v, int gpus)
{
    size_t look = find_look(design_view_asked(v, gpus, true, false));

    return look < DESIGN_SPEED_NLOOKS ? speed_looks[look] : 0;
}

/* Adds the efficiency of each count that has short runs. */
static void add_speed_looks(struct design_view *v)
{
    struct short_run s[DESIGN_SEEDS], base[DESIGN_SEEDS];
    struct sequential plan;

    sequential_plan(&plan, DESIGN_ALPHA / (double)(v->design->ncounts - 1), speed_looks,
                    DESIGN_SPEED_NLOOKS);
    for (size_t i = 1; i < v->design->ncounts; i++) {
        int gpus = v->design->counts[i];
        const struct series_point *p = find_point(v, gpus);
        size_t n, nbase, outliers = list_short_runs(v, gpus, s, &n, base, &nbase),
               look = find_look(design_view_asked(v, gpus, true, false));
        if (!n)
            continue;
        struct ratio r = combine(base, nbase, s, n, v->nrounds,
                                 2 * plan.level[look ? look - 1 : 0]);
        double units = series_speedup(v->series, p)->value /
                       p->speedup[QUANTITY_STEADY_EPOCH].value,
               scale = units / series_ideal(v->series, gpus),
               rounding = p->q[QUANTITY_STEADY_EPOCH].resolution /
                          p->q[QUANTITY_STEADY_EPOCH].median;
        if (outliers > design_view_asked(v, gpus, true, true)) /* some is not repeated yet */
            r.interval = interval_none();
        r.interval.low *= scale * (1 - rounding);
        r.interval.high *= scale * (1 + rounding);
        v->looks.speed[v->looks.nspeed++] =
            (struct speed_look){gpus, look, r.value * scale, r.interval};
    }
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
    if (v->series->npoints < 2)
        return 0;
    add_speed_looks(v);
    return decision_compute(&v->decision, v->series, &rule, v->model, e);
}

static void find_looks(struct design_view *v)
{
    const struct design *d = v->design;
    size_t pairs[SEQUENTIAL_LOOKS], nlooks = design_view_pairs(d, pairs);

    for (size_t i = 0; i < v->nrounds; i++) {
        const struct design_round *r = &v->rounds[i];
        struct quality_looks *dst = &v->looks;
        size_t k = 0;
        if (!r->tested || !r->family || !r->pairs || r->pairs > d->nseeds)
            continue;
        if (!dst->family) {
            dst->family = r->family;
            sequential_plan(&v->plan, DESIGN_ALPHA / (double)r->family, pairs, nlooks);
        }
        while (k < dst->n && dst->items[k].gpus != r->tested)
            k++;
        if (k == QUALITY_LOOKS || r->look > nlooks)
            continue;
        dst->n = k < dst->n ? dst->n : k + 1;
        dst->items[k] = (struct quality_look){
            .gpus = r->tested, .look = r->look, .pairs = r->pairs,
            .last_seed = d->seeds[r->pairs - 1],
            .alpha = r->look ? 2 * v->plan.level[r->look - 1] : 0, .shared = d->shared};
    }
    v->family = v->looks.n ? v->looks.family : 0;
}

int design_view_create(struct design_view *v, const struct design *d, const struct results *table,
                       const struct design_round *rounds, size_t nrounds, struct err *e)
{
    struct series_facts facts = d->facts;

    facts.base = d->counts[0];
    *v = (struct design_view){.design = d, .table = table, .rounds = rounds, .nrounds = nrounds};
    find_looks(v);
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

int design_view_looks(const struct design *d, const struct results *table,
                      const struct design_round *rounds, size_t nrounds, struct quality_looks *dst,
                      struct err *e)
{
    struct design_view v;

    if (design_view_create(&v, d, table, rounds, nrounds, e))
        return -1;
    *dst = v.looks;
    design_view_destroy(&v);
    return 0;
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
        return design_view_asked(v, gpus, true, false) + design_view_asked(v, gpus, false, false)
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
    const struct series_point *p = find_point(v, gpus);

    return gpus == v->design->counts[0] ? 1
           : !p ? NAN
                : v->decision.judged[p - v->series->points].value * series_ideal(v->series, gpus);
}

double design_view_speedup_most(const struct design_view *v, int gpus)
{
    const struct ratio *r = &v->decision.judged[find_point(v, gpus) - v->series->points];

    return fmax(r->value, interval_is_known(&r->interval) ? r->interval.high : 0) *
           series_ideal(v->series, gpus);
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
    int base = v->design->counts[0];

    if (v->series && design_view_speedup(v, gpus) > 0)
        return 1 / design_view_speedup(v, gpus);
    return v->series && v->model->fitted ? 1 / model_speedup(v->model, base, gpus).expected
                                         : (double)base / gpus;
}

bool design_view_has_whole(const struct design_view *v)
{
    for (size_t i = 0; v->series && i < v->series->npoints; i++)
        if (v->series->points[i].q[QUANTITY_WHOLE].count)
            return true;
    return false;
}

/* Returns a median of the runs of a count or, if it has none, of the base case; 0 if unknown. */
static double median_part(const struct design_view *v, const struct series_point *p,
                          enum quantity q)
{
    double own = p ? p->q[q].median : NAN, of_base = v->series->points->q[q].median;

    return !isnan(own) ? own : !isnan(of_base) ? of_base : 0;
}

/* Returns the seconds of a whole run: those measured; else its epochs, and besides what the runs of
 * the base case took, or before there is one stage-in, start-up and first epoch of short runs. */
static double expect_whole(const struct design_view *v, int gpus)
{
    const struct series_point *p = find_point(v, gpus),
                              *base = v->series ? v->series->points : NULL;

    if (p && p->q[QUANTITY_WHOLE].count)
        return p->q[QUANTITY_WHOLE].median;
    double ratio = time_ratio(v, gpus);
    double epochs = base && !v->series->stepped
                        ? (double)v->design->epochs * base->q[QUANTITY_STEADY_EPOCH].median : 0;
    if (!base)
        return v->design->whole_s * ratio;
    if (base->q[QUANTITY_WHOLE].count && epochs > 0)
        return epochs * ratio + fmax(0, base->q[QUANTITY_WHOLE].median - epochs);
    double first = median_part(v, p, QUANTITY_FIRST_EPOCH) -
                   ratio * base->q[QUANTITY_STEADY_EPOCH].median;
    return (base->q[QUANTITY_WHOLE].count ? base->q[QUANTITY_WHOLE].median
            : epochs > 0 ? epochs : v->design->whole_s) * ratio +
           (epochs > 0 ? fmax(0, first) + median_part(v, p, QUANTITY_STARTUP) +
                             median_part(v, p, QUANTITY_STAGE) : 0);
}

void design_view_add(const struct design_view *v, struct design_round *round, int gpus, size_t n,
                     bool limited)
{
    double seconds = limited ? expect_short(v, gpus) : expect_whole(v, gpus);

    for (size_t i = 0, added = 0; (limited ? added : i) < n && i < v->design->nseeds &&
                                  round->nruns < DESIGN_RUNS; i++) {
        long seed = v->design->seeds[i];
        if (is_asked(v, gpus, seed, limited))
            continue;
        added++;
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
