/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/decision.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/statistics/hypothesis.h"

#define MOST_SEEDS 100 /* more runs per count are not practicable */
#define CLOSE 1.1 /* between counts of at most this ratio a further one gains little */

static double base_quality(const struct series *s)
{
    return fabs(s->points[0].q[QUANTITY_QUALITY].median);
}

static bool is_relative(const struct decision_rule *rule, const struct series *s)
{
    return rule->is_share ||
           (!rule->chosen && !s->is_share && (s->lower || base_quality(s) > 1));
}

double decision_margin(const struct decision_rule *rule, const struct series *s)
{
    return rule->margin * (is_relative(rule, s) ? base_quality(s) : 1);
}

static void describe_quality_rule(struct buf *b, const struct decision_rule *rule,
                                  const struct series *s, const char *quality)
{
    bool relative = is_relative(rule, s);
    double scale = relative ? 100 : 1;
    const char *unit = relative ? " % of the base case's" : "";

    buf_addf(b, " %s is judged by its change from the base case, with %s: it holds where that lies "
             "%s%.3g%s, %s where it lies %s, and is undecided otherwise and where a count has one "
             "run.", *quality == 'I' ? quality : "Quality",
             rule->looks ? "a repeated confidence interval over pairs of seeds, simultaneous over "
                           "all counts and looks of the sequential study"
                         : "an interval that is simultaneous over all counts", s->lower ? "below " : "above -",
             scale * rule->margin, unit, quality_fall_word(s), s->lower ? "above" : "below");
    buf_addf(b, " A run more than %.3g%s (%d margins) and more than %d standard deviations of runs %s "
             "the median of the base case, or that diverged, has %s: the interval is about the "
             "others. A count is not used where that share is shown to exceed %.0f %% (one-sided "
             "95 %% limit), and is undecided where a run %s and it is not shown to be less.",
             scale * QUALITY_COLLAPSE * rule->margin, unit, QUALITY_COLLAPSE,
             QUALITY_COLLAPSE_SCATTER, s->lower ? "above" : "below", series_collapsed(s),
             100 * QUALITY_COLLAPSE_SHARE, series_collapsed(s));
    if (relative && !rule->is_share)
        buf_add(b, " quality.margin sets another margin.");
}

void decision_describe_rule(struct buf *b, const struct decision_rule *rule,
                            const struct series *s, const char *quality)
{
    buf_addf(b, "Use the fastest count of GPUs measured whose steady %ss (those after warming up) "
             "have an efficiency (speed-up divided by the ideal) of at least %.2f",
             series_interval(s), rule->efficiency);
    if (quality)
        buf_addf(b, " and whose %s holds, both by their 95 %% intervals", quality);
    else
        buf_add(b, " by its 95 % interval");
    buf_addf(b, ", simultaneous over all counts%s. Efficiency is undecided where its interval "
             "includes %.2f or is not known, as with single runs.",
             quality ? "" : "; no run has a quality", rule->efficiency);
    if (quality)
        describe_quality_rule(b, rule, s, quality);
}

static bool reaches(double efficiency, const struct decision *d)
{
    return round(1000 * efficiency) >= round(1000 * d->rule.efficiency);
}

/* Returns whether the efficiency of p as measured, printed with three decimals, reaches the
 * threshold. */
static bool is_efficient(const struct decision *d, const struct series *s,
                         const struct series_point *p)
{
    return reaches(d->judged[p - s->points].value, d);
}

bool decision_is_single(const struct decision *d, const struct series_point *p)
{
    return p != d->base && !d->rule.looks && (p->nruns == 1 || d->base->nruns == 1);
}

int decision_efficiency_decimals(const struct decision *d, double efficiency)
{
    return fabs(efficiency - d->rule.efficiency) < 0.0051 ? 3 : 2;
}

const struct series_point *decision_find_too_good(const struct decision *d,
                                                  const struct series *s)
{
    const struct series_point *best = NULL;

    for (const struct series_point *p = d->base + 1; p < d->base + s->npoints; p++) {
        const struct ratio *r = series_efficiency(s, p);
        double least = interval_is_known(&r->interval) ? r->interval.low : r->least;
        if (r->value > DECISION_TOO_GOOD && !(least <= 1) &&
            (!best || r->value > series_efficiency(s, best)->value))
            best = p;
    }
    return best;
}

/* Returns the efficiency of a point by which it is judged: of a sequential design that of its
 * looks, otherwise that of the tables, with an interval simultaneous over all larger counts. */
static struct ratio judge_efficiency(const struct decision *d, const struct series *s,
                                     const struct series_point *p)
{
    const struct ratio *r = series_efficiency(s, p);
    struct ratio judged = *r;

    if (p == d->base)
        return judged;
    if (!d->rule.looks || !d->rule.looks->nspeed)
        return series_scale(series_compare(d->base, p, QUANTITY_STEADY_EPOCH,
                                           1 - (1 - INTERVAL_LEVEL) / (double)d->nfamily),
                            r->value);
    judged.interval = interval_none();
    for (size_t i = 0; i < d->rule.looks->nspeed; i++)
        if (d->rule.looks->speed[i].gpus == p->gpus) {
            judged.value = d->rule.looks->speed[i].efficiency;
            judged.interval = d->rule.looks->speed[i].interval;
        }
    return judged;
}

static enum decision_state classify_time(const struct decision *d, size_t i)
{
    const struct interval *in = &d->judged[i].interval;

    if (i == 0)
        return DECISION_PASSES;
    if (!interval_is_known(in) || in->method == INTERVAL_EPOCHS)
        return DECISION_UNDECIDED;
    return reaches(in->low, d) ? DECISION_PASSES
           : reaches(in->high, d) ? DECISION_UNDECIDED : DECISION_FAILS;
}

static enum decision_state classify_point(enum decision_state time, enum quality_state quality)
{
    if (time == DECISION_FAILS || quality == QUALITY_FALLS || quality == QUALITY_COLLAPSES)
        return DECISION_FAILS;
    return quality == QUALITY_HOLDS ? time : DECISION_UNDECIDED;
}

static int classify_points(struct decision *d, const struct series *s, struct err *e)
{
    d->unlearnt = quality_is_unlearnt(s);
    d->by_time = !s->has_quality;
    d->rule.margin = decision_margin(&d->rule, s);
    if (quality_compute(d->quality, s, d->rule.margin, d->rule.looks, e))
        return -1;
    for (size_t i = 1; i < s->npoints; i++)
        d->nfamily += !isnan(series_efficiency(s, &s->points[i])->least);
    d->nfamily = d->nfamily ? d->nfamily : 1;
    for (size_t i = 0; i < s->npoints; i++) {
        d->judged[i] = judge_efficiency(d, s, &s->points[i]);
        d->time[i] = classify_time(d, i);
        d->state[i] = i == 0       ? DECISION_PASSES
                      : d->by_time ? d->time[i]
                                   : classify_point(d->time[i], d->quality[i].state);
    }
    return 0;
}

/* Returns the speed-up that the judged efficiency of a point is. */
static double judged_speedup(const struct decision *d, const struct series *s, size_t i)
{
    return i ? d->judged[i].value * series_ideal(s, s->points[i].gpus) : 1;
}

/* Returns the fastest count whose state is at most worst and that is efficient as measured; of
 * equally fast ones, the smallest. */
static const struct series_point *find_fastest(const struct decision *d, const struct series *s,
                                               enum decision_state worst)
{
    const struct series_point *best = s->points;

    for (size_t i = 1; i < s->npoints; i++)
        if (d->state[i] <= worst && is_efficient(d, s, &s->points[i]) &&
            judged_speedup(d, s, i) > judged_speedup(d, s, (size_t)(best - s->points)))
            best = &s->points[i];
    return best;
}

/* A standard deviation, and the degrees of freedom that it was estimated with. */
struct scatter {
    double sd, df;
};

/* Returns that within counts, pooled over counts with two runs or more; sd is NaN if there is
 * none. relative: of the mean. */
static struct scatter pool_scatter(const struct series *s, enum quantity quantity, bool relative)
{
    double squares = 0, df = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct summary *q = &s->points[i].q[quantity];
        if (q->count < 2)
            continue;
        squares += pow(q->spread * (relative ? 1 : q->mean), 2) * (double)(q->count - 1);
        df += (double)(q->count - 1);
    }
    return (struct scatter){sqrt(squares / df), df};
}

/* Returns that of the pairs of all counts. */
static struct scatter pool_pairs(const struct decision *d, const struct series *s)
{
    double squares = 0, df = 0;

    for (size_t i = 1; i < s->npoints; i++) {
        const struct comparison *c = &d->quality[i].change;
        if (c->test != COMPARE_PAIRED_T)
            continue;
        squares += c->sd * c->sd * c->df;
        df += c->df;
    }
    return (struct scatter){sqrt(squares / df), df};
}

/* The larger one of what was seen at the counts in question and at all counts: few runs may show
 * too little by chance, and more GPUs may scatter more. */
static struct scatter larger(struct scatter own, struct scatter pooled)
{
    return own.sd > pooled.sd || isnan(pooled.sd) ? own : pooled;
}

static void set_seeds(struct decision_seeds *seeds, size_t n, size_t measured)
{
    seeds->n = n && n <= measured ? measured + 1 : n;
    if (seeds->n > MOST_SEEDS || seeds->coarse)
        seeds->n = 0;
}

size_t decision_next_runs(const struct decision_seeds *seeds)
{
    return seeds->assumed ? DECISION_PILOT : seeds->n;
}

/* If the quality of reach is undecided for want of runs, computes the number of seeds that would
 * decide it. If there are already enough runs to find a change of the margin, the change is close
 * to the margin; then the distance between the two determines the number. */
static void find_seeds(struct decision *d, const struct series *s)
{
    const struct quality *q = &d->quality[d->reach - s->points];
    const struct comparison *c = &q->change;
    bool paired = c->test == COMPARE_PAIRED_T;
    struct scatter scatter = {c->sd, c->df};

    if (d->rule.looks || d->reach == d->base || q->state != QUALITY_UNDECIDED || q->why)
        return;
    if (q->collapse_open) {
        d->seeds = (struct decision_seeds){.point = d->reach, .n = q->collapse_needed,
                                           .collapse = true};
        return;
    }
    scatter = larger(scatter, paired ? pool_pairs(d, s) : pool_scatter(s, QUANTITY_QUALITY, false));
    d->seeds = (struct decision_seeds){.point = d->reach, .assumed = isnan(scatter.sd),
                                       .coarse = scatter.sd == 0,
                                       .change = c->enough ? c->difference : 0};
    double distance = c->margin - quality_loss(s, d->seeds.change);
    if (d->seeds.assumed)
        scatter = (struct scatter){c->margin, INFINITY};
    d->seeds.scatter = scatter.sd;
    set_seeds(&d->seeds, compare_needed(scatter.sd, scatter.df, distance, c->nfamily, paired),
              c->n);
}

/* Returns the count whose undecided efficiency matters: reach or, if that is decided, the first
 * larger one; NULL if there is none. */
static const struct series_point *find_open(const struct decision *d, const struct series *s)
{
    for (const struct series_point *p = d->reach; p < s->points + s->npoints; p++)
        if (d->time[p - s->points] == DECISION_UNDECIDED &&
            d->judged[p - s->points].value > 0 && d->state[p - s->points] != DECISION_FAILS)
            return p;
        else if (p == d->reach && d->state[p - s->points] == DECISION_UNDECIDED)
            return NULL;
    return NULL;
}

/* Computes the number of runs that would decide whether the efficiency of the open count reaches
 * the threshold, if it stays as measured. */
static void find_time_seeds(struct decision *d, const struct series *s)
{
    const struct series_point *p = find_open(d, s);
    struct decision_seeds *seeds = &d->time_seeds;
    const struct summary *a = &d->base->q[QUANTITY_STEADY_EPOCH],
                         *b = p ? &p->q[QUANTITY_STEADY_EPOCH] : NULL;

    if (!p)
        return;
    struct scatter scatter = larger(
        (struct scatter){hypot(a->spread, b->spread) / sqrt(2), (double)(a->count + b->count) - 2},
        pool_scatter(s, QUANTITY_STEADY_EPOCH, true));
    *seeds = (struct decision_seeds){.point = p, .assumed = isnan(scatter.sd),
                                     .coarse = scatter.sd == 0,
                                     .change = d->judged[p - s->points].value};
    if (seeds->assumed)
        scatter = (struct scatter){DECISION_TIME_SCATTER, INFINITY};
    seeds->scatter = scatter.sd;
    set_seeds(seeds, compare_needed(scatter.sd, scatter.df, log(seeds->change / d->rule.efficiency),
                                    seeds->assumed ? s->npoints - 1 : d->nfamily, false),
              a->count < b->count ? a->count : b->count);
}

/* Writes the efficiency of p with its interval: "0.50 (95 % interval 0.48 to 0.53, threshold
 * 0.80)". Returns the length of the text. */
static int describe_efficiency(const struct decision *d, const struct series *s,
                               const struct series_point *p, char *dst, size_t size)
{
    const struct ratio *r = &d->judged[p - s->points];
    char bounds[SERIES_BOUNDS];

    series_describe_bounds(s, r, 3, bounds);
    return snprintf(dst, size, "%.*f (%s%sthreshold %.2f)",
                    decision_efficiency_decimals(d, r->value), r->value, bounds,
                    *bounds ? ", " : "", d->rule.efficiency);
}

/* Writes that the efficiency of p is too small or undecided and, if it was recorded, what its
 * epochs wait for in at least 5 % of their time and whether its workers share cores. Returns the
 * length of the text. */
static int explain_slow(const struct decision *d, const struct series *s,
                        const struct series_point *p, char *dst, size_t size)
{
    double epoch = p->q[QUANTITY_STEADY_EPOCH].median;
    double comm = 100 * p->q[QUANTITY_COMM].median / epoch,
           data = 100 * p->q[QUANTITY_DATA].median / epoch;
    bool fails = d->time[p - s->points] == DECISION_FAILS;
    int n = snprintf(dst, size, fails ? "efficiency drops to " : "it is undecided whether the "
                     "efficiency is sufficient: ");

    n += describe_efficiency(d, s, p, dst + n, size - (size_t)n);
    if (isnan(comm) && isnan(data))
        return n + snprintf(dst + n, size - (size_t)n, "%s",
                            fails ? "; the logs do not show why" : "");
    if (comm >= 5)
        n += snprintf(dst + n, size - (size_t)n,
                      "; %.0f %% of an %s is exposed communication", comm, series_interval(s));
    if (data >= 5)
        n += snprintf(dst + n, size - (size_t)n, "; %.0f %% of an %s waits for data", data,
                      series_interval(s));
    if (p->oversubscribed)
        n += snprintf(dst + n, size - (size_t)n, "; its workers share cores");
    return n;
}

static int explain_quality(const struct series *s, const struct quality *q, char *dst, size_t size)
{
    const struct comparison *c = &q->change;

    if (q->state == QUALITY_COLLAPSES)
        return snprintf(dst, size,
                        "%zu of %zu run%s %s (%s more than %.3g %s the median of the "
                        "base case)",
                        q->ncollapsed, q->nruns, plural((long)q->nruns), series_collapsed(s),
                        s->quality,
                        quality_far(s, c->margin), s->lower ? "above" : "below");
    struct interval losses = quality_losses(s, &c->interval);
    int n = snprintf(dst, size, "%s %s by %.*f", s->quality, quality_fall_word(s), s->decimals,
                     quality_loss(s, c->difference));
    if (s->counted)
        n += snprintf(dst + n, size - (size_t)n, " on these %ld images", s->counted);
    return n + snprintf(dst + n, size - (size_t)n, " (95 %% interval %.*f to %.*f, margin %.3g)",
                        s->decimals, losses.low, s->decimals, losses.high, c->margin);
}

static void explain_limit(struct decision *d, const struct series *s, size_t i)
{
    const struct series_point *p = &s->points[i];
    const struct quality *q = &d->quality[i];
    bool worse = q->state == QUALITY_FALLS || q->state == QUALITY_COLLAPSES;
    size_t size = sizeof d->limit_why;
    int n = 0;

    d->limit = p;
    if (isnan(series_efficiency(s, p)->value))
        n = snprintf(d->limit_why, size, "there is no steady %s to judge by", series_interval(s));
    else if (d->time[i] == DECISION_FAILS || !is_efficient(d, s, p))
        n = explain_slow(d, s, p, d->limit_why, size);
    else if (!worse)
        n = snprintf(d->limit_why, size, "the speed-up is %.2f, not above the %.2f with %d",
                     judged_speedup(d, s, i), judged_speedup(d, s, (size_t)(d->reach - s->points)),
                     d->reach->gpus);
    if (worse) {
        n += snprintf(d->limit_why + n, size - (size_t)n, "%s", n ? "; " : "");
        explain_quality(s, q, d->limit_why + n, size - (size_t)n);
    }
}

/* Finds how far beyond the largest measured count the model predicts sufficient efficiency. */
static void find_model_reach(struct decision *d, const struct series *s, const struct model *m)
{
    int base = s->points[0].gpus, gpus = d->reach->gpus;

    if (d->limit || !model_is_usable(m))
        return;
    d->model_reach = d->model_expected = gpus;
    for (gpus++; !model_is_extrapolation(m, gpus); gpus++) {
        struct bounds speedup = model_speedup(m, base, gpus);
        double needed = d->rule.efficiency * series_ideal(s, gpus);
        if (speedup.expected < needed)
            return;
        d->model_expected = gpus;
        if (speedup.low >= needed && d->model_reach == gpus - 1)
            d->model_reach = gpus;
    }
}

/* Returns the practical count between low and high, both excluded, that is the nearest to a number
 * by ratio, or 0. */
static int find_practical(const struct series *s, int low, int high, double to)
{
    int best = 0;

    for (int n = low + 1; n < high; n++)
        if (series_is_practical(s, n) && (!best || fabs(log(n / to)) < fabs(log(best / to))))
            best = n;
    return best;
}

/* Chooses a count to measure beyond the largest one. If the model expects that larger counts are
 * efficient, it is the last of them; if it expects that none is, the next count; without a model,
 * twice the largest. */
static void choose_larger(struct decision *d, const struct series *s)
{
    int last = d->reach->gpus, expected = d->model_expected;

    d->next = find_practical(s, last, expected + 1, expected);
    if (d->next) {
        snprintf(d->next_why, sizeof d->next_why,
                 d->model_reach >= d->next
                     ? "the model predicts an efficiency of %.2f or more up to there, if no limit "
                       "begins before"
                     : "the model expects an efficiency of %.2f or more up to there, if no limit "
                       "begins before, but its interval includes less",
                 d->rule.efficiency);
        return;
    }
    d->next = find_practical(s, last, 2 * last + 1, expected ? last : 2 * last);
    if (!d->next)
        snprintf(d->next_why, sizeof d->next_why, "no more GPUs share the batch of %ld",
                 s->rows[0].global_batch);
    else if (expected)
        snprintf(d->next_why, sizeof d->next_why,
                 "the model predicts that efficiency drops below %.2f there", d->rule.efficiency);
    else
        snprintf(d->next_why, sizeof d->next_why,
                 "no count was measured beyond %d, and no model predicts where efficiency drops",
                 last);
}

static void explain_seeds(struct decision *d, const struct series *s,
                          const struct decision_seeds *seeds)
{
    bool time = seeds == &d->time_seeds;
    const char *once = "; decide once, with all of them: each look is another chance to err";
    char what[120], scatter[64];

    if (time)
        snprintf(what, sizeof what, "whether the efficiency, %.*f as measured, reaches %.2f",
                 decision_efficiency_decimals(d, seeds->change), seeds->change,
                 d->rule.efficiency);
    else if (seeds->collapse) {
        snprintf(d->next_why, sizeof d->next_why, "enough to show whether more than %.0f %% of the "
                 "runs %s, if as many do as so far", 100 * QUALITY_COLLAPSE_SHARE,
                 s->is_share ? "collapse" : "end far worse");
        return;
    } else if (seeds->change == 0)
        snprintf(what, sizeof what, "that an unchanged %s holds", s->quality);
    else
        snprintf(what, sizeof what, "on a change of %s that stays %.*f", s->quality, s->decimals,
                 seeds->change);
    snprintf(scatter, sizeof scatter, time ? "%.1f %%" : "%.2g",
             time ? 100 * seeds->scatter : seeds->scatter);
    if (seeds->assumed && !seeds->n)
        snprintf(d->next_why, sizeof d->next_why, "they show the scatter over runs");
    else if (seeds->assumed)
        snprintf(d->next_why, sizeof d->next_why,
                 "they show the scatter over runs; if its standard deviation is %s, %zu show with "
                 "a power of %.1f %s%s", scatter, seeds->n, COMPARE_POWER, what, once);
    else
        snprintf(d->next_why, sizeof d->next_why,
                 "enough to show with a power of %.1f %s, at up to the scatter that the standard "
                 "deviation of %s seen allows%s", COMPARE_POWER, what, scatter, once);
}

/* Chooses the runs that decide what is undecided, the larger number of both. */
static bool choose_seeds(struct decision *d, const struct series *s)
{
    const struct decision_seeds *seeds =
        decision_next_runs(&d->time_seeds) > decision_next_runs(&d->seeds) ? &d->time_seeds
                                                                           : &d->seeds;

    if (!decision_next_runs(seeds))
        return false;
    d->next_point = seeds->point;
    d->next_seeds = decision_next_runs(seeds);
    explain_seeds(d, s, seeds);
    return true;
}

/* Chooses whole runs of base and reach where all ended at their limit, if the runs have a quality
 * that they would show. */
static bool choose_whole(struct decision *d, const struct series *s)
{
    const struct series_point *const needed[] = {d->base, d->reach};
    bool is_named = s->has_quality || *s->rows->quality.metric;
    size_t n = 0;

    for (size_t i = 0; is_named && d->reach != d->base && i < 2; i++)
        if (needed[i]->nlimited == needed[i]->nruns)
            d->next_whole[n++] = needed[i]->gpus;
    if (n)
        snprintf(d->next_why, sizeof d->next_why,
                 "%s is not known there, as the runs give the steady speed alone", s->quality);
    return n;
}

static void choose_next(struct decision *d, const struct series *s)
{
    if (choose_whole(d, s) || choose_seeds(d, s))
        return;
    if (!d->limit) {
        choose_larger(d, s);
    } else {
        int low = d->reach->gpus, high = d->limit->gpus;
        if (high > CLOSE * low)
            d->next = find_practical(s, low, high, sqrt((double)low * high));
        if (d->next) {
            snprintf(d->next_why, sizeof d->next_why, "the limit lies between %d and %d", low,
                     high);
        } else if (d->time_seeds.point) {
            snprintf(d->next_why, sizeof d->next_why,
                     "no practicable number of runs decides whether the efficiency with %d "
                     "reaches %.2f", d->time_seeds.point->gpus, d->rule.efficiency);
        } else {
            snprintf(d->next_why, sizeof d->next_why,
                     "the counts on both sides of the limit, %d and %d, are measured", low, high);
        }
    }
}

size_t decision_list_counts(const struct decision *d, const struct series *s, decision_point_f *f,
                            char *dst, size_t size)
{
    size_t used = 0, n = 0;

    *dst = '\0';
    for (size_t i = 0, last; i < s->npoints && used < size; i = last + 1) {
        last = i;
        if (!f(d, s, i))
            continue;
        while (last + 1 < s->npoints && f(d, s, last + 1))
            last++;
        n += last - i + 1;
        used +=
            (size_t)snprintf(dst + used, size - used, "%s%d", used ? ", " : "", s->points[i].gpus);
        if (last > i && used < size)
            used += (size_t)snprintf(dst + used, size - used, "%s%d", last > i + 1 ? ".." : ", ",
                                     s->points[last].gpus);
    }
    return n;
}

/* Returns whether the advice is for lack of a better count, all others being shown to fail. */
static bool all_fail(const struct decision *d, const struct series *s)
{
    for (size_t i = 1; i < s->npoints; i++)
        if (d->state[i] != DECISION_FAILS)
            return false;
    return true;
}

int decision_compute(struct decision *d, const struct series *s, const struct decision_rule *rule,
                     const struct model *steady, struct err *e)
{
    *d = (struct decision){.rule = *rule,
                           .base = s->points,
                           .state = mem_zero(s->npoints, sizeof *d->state, e),
                           .time = mem_zero(s->npoints, sizeof *d->time, e),
                           .judged = mem_zero(s->npoints, sizeof *d->judged, e),
                           .quality = mem_zero(s->npoints, sizeof *d->quality, e)};
    if (!d->state || !d->time || !d->judged || !d->quality || classify_points(d, s, e) ||
        disturbance_compute(&d->disturbance, s, e)) {
        decision_destroy(d);
        return -1;
    }
    d->use = find_fastest(d, s, DECISION_PASSES);
    d->reach = find_fastest(d, s, DECISION_UNDECIDED);
    d->best = d->use == d->base ? d->reach : d->use;
    d->decided = d->use == d->reach && (d->use != d->base || all_fail(d, s));
    d->speedup = *series_speedup(s, d->best);
    d->efficiency = *series_efficiency(s, d->best);
    if (rule->looks && d->best != d->base) {
        d->efficiency = d->judged[d->best - s->points];
        d->speedup = series_scale(d->efficiency,
                                  judged_speedup(d, s, (size_t)(d->best - s->points)));
    }
    find_seeds(d, s);
    find_time_seeds(d, s);
    if (d->reach + 1 < s->points + s->npoints)
        explain_limit(d, s, (size_t)(d->reach + 1 - s->points));
    find_model_reach(d, s, steady);
    choose_next(d, s);
    return 0;
}

void decision_destroy(struct decision *d)
{
    free(d->state);
    free(d->time);
    free(d->judged);
    free(d->quality);
    *d = (struct decision){0};
}
