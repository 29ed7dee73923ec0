/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/decision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/analysis/caveats.h"
#include "launcher/analysis/statistics/student.h"
#include "src/mem.h"

#define MOST_SEEDS 1000 /* more runs per count are not practicable */

const char *decision_iou_name(enum decision_iou iou)
{
    static const char *const names[] = {
        [DECISION_IOU_UNKNOWN] = "unknown",
        [DECISION_IOU_HOLDS] = "holds",
        [DECISION_IOU_UNDECIDED] = "undecided",
        [DECISION_IOU_FALLS] = "falls",
    };

    return names[iou];
}

void decision_rule(struct buf *b, const char *quality)
{
    buf_addf(
        b,
        "Use the fastest count of GPUs measured whose steady epochs (those after the first) have "
        "an efficiency (speed-up divided by the ideal) of at least %.2f and whose %s holds: the 95 "
        "%% interval of its change from the base case, simultaneous over all counts, lies above "
        "-%.2f. %s falls where that interval lies below -%.2f, and is undecided otherwise and "
        "where a count has one run.",
        DECISION_EFFICIENCY, quality, DECISION_IOU_MARGIN, *quality == 'I' ? quality : "It",
        DECISION_IOU_MARGIN);
}

bool decision_is_efficient(const struct series *s, const struct series_point *p)
{
    return round(1000 * series_efficiency(s, p)->value) >= round(1000 * DECISION_EFFICIENCY);
}

int decision_efficiency_decimals(double efficiency)
{
    return fabs(efficiency - DECISION_EFFICIENCY) < 0.0051 ? 3 : 2;
}

static double median_quality(const struct series_point *p)
{
    return p->q[QUANTITY_IOU].median;
}

bool decision_is_blind(const struct result *r)
{
    return result_quality(r) < r->constant + DECISION_BLIND;
}

static bool is_blind(const struct series_point *p)
{
    for (size_t i = 0; i < p->nruns; i++)
        if (!decision_is_blind(&p->rows[i]))
            return false;
    return true;
}

/* Returns why the quality of p cannot be compared, or NULL if it can. */
static const char *find_unusable(const struct decision *d, const struct series_point *p)
{
    if (isnan(median_quality(d->base)) || isnan(median_quality(p)))
        return "not recorded";
    if (!d->learnt)
        return "not comparable, as no network has learnt its task";
    if (is_blind(d->base) || is_blind(p))
        return "not comparable, as networks score no better than one class everywhere";
    if (d->base->val_images && p->val_images && p->val_images != d->base->val_images)
        return "not comparable, as it is counted over different validation images";
    return NULL;
}

static enum decision_iou classify_iou(const struct decision *d, const struct series_point *p,
                                      const struct comparison *c)
{
    if (find_unusable(d, p))
        return DECISION_IOU_UNKNOWN;
    if (c->test == COMPARE_NONE || c->test == COMPARE_IMAGES)
        return DECISION_IOU_UNDECIDED;
    if (c->interval.low > -c->margin)
        return DECISION_IOU_HOLDS;
    return c->interval.high < -c->margin ? DECISION_IOU_FALLS : DECISION_IOU_UNDECIDED;
}

static enum decision_state classify_point(const struct series *s, const struct series_point *p,
                                          enum decision_iou iou)
{
    if (p == s->points)
        return DECISION_PASSES;
    if (!decision_is_efficient(s, p) || iou == DECISION_IOU_FALLS)
        return DECISION_FAILS;
    return iou == DECISION_IOU_HOLDS ? DECISION_PASSES : DECISION_UNDECIDED;
}

static int classify_points(struct decision *d, const struct series *s, struct err *e)
{
    const struct series_point *base = s->points;

    for (size_t i = 0; i < s->npoints; i++)
        d->learnt |= median_quality(&s->points[i]) >= DECISION_LEARNT;
    for (size_t i = 1; i < s->npoints; i++)
        if (compare_runs(&d->iou_change[i], base->rows, base->nruns, s->points[i].rows,
                         s->points[i].nruns, QUANTITY_IOU, DECISION_IOU_MARGIN, e))
            return -1;
    compare_correct(d->iou_change + 1, s->npoints - 1);
    d->iou[0] = find_unusable(d, base) ? DECISION_IOU_UNKNOWN : DECISION_IOU_HOLDS;
    for (size_t i = 1; i < s->npoints; i++)
        d->iou[i] = classify_iou(d, &s->points[i], &d->iou_change[i]);
    for (size_t i = 0; i < s->npoints; i++)
        d->state[i] = classify_point(s, &s->points[i], d->iou[i]);
    return 0;
}

/* Returns the fastest count whose state is at most worst; of equally fast ones, the smallest. */
static const struct series_point *find_fastest(const struct decision *d, const struct series *s,
                                               enum decision_state worst)
{
    const struct series_point *best = s->points;

    for (size_t i = 1; i < s->npoints; i++)
        if (d->state[i] <= worst &&
            series_speedup(s, &s->points[i])->value > series_speedup(s, best)->value)
            best = &s->points[i];
    return best;
}

/* Returns the standard deviation within counts, pooled over counts with two runs or more, or
 * NaN. */
static double pool_scatter(const struct series *s)
{
    double squares = 0, df = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct summary *q = &s->points[i].q[QUANTITY_IOU];
        if (q->count < 2)
            continue;
        squares += pow(q->spread * q->mean, 2) * (double)(q->count - 1);
        df += (double)(q->count - 1);
    }
    return sqrt(squares / df);
}

/* If the quality of reach is undecided, computes the number of seeds that would decide it; 0 if
 * more than MOST_SEEDS. The scatter is that of base and reach, otherwise that within other counts,
 * otherwise an assumed one. If there are already enough runs to find a change of the margin, the
 * change is close to the margin; then the distance between the two determines the number. */
static void find_seeds(struct decision *d, const struct series *s)
{
    size_t i = (size_t)(d->reach - s->points), nfamily = 0;
    const struct comparison *c = &d->iou_change[i];

    if (d->state[i] != DECISION_UNDECIDED || d->iou[i] != DECISION_IOU_UNDECIDED)
        return;
    for (size_t k = 1; k < s->npoints; k++)
        nfamily += !isnan(d->iou_change[k].difference);
    d->seeds.scatter = c->sd;
    d->seeds.change = c->enough ? c->difference : 0;
    d->seeds.n = compare_needed(c, c->margin + d->seeds.change, nfamily);
    if (isnan(c->sd)) {
        double pooled = pool_scatter(s);
        d->seeds.assumed = isnan(pooled);
        d->seeds.scatter = d->seeds.assumed ? DECISION_SCATTER : pooled;
        d->seeds.n = student_needed(d->seeds.scatter, c->margin, COMPARE_ALPHA / (double)nfamily,
                                    COMPARE_POWER, 2);
    }
    if (d->seeds.n && d->seeds.n <= c->n)
        d->seeds.n = c->n + 1;
    if (d->seeds.n > MOST_SEEDS)
        d->seeds.n = 0;
}

/* Writes that the efficiency drops at p and, if it was recorded, what its epochs wait for in at
 * least 5 % of their time and whether its workers share cores. Returns the length of the text. */
static int explain_slow(const struct series *s, const struct series_point *p, char *dst,
                        size_t size)
{
    double epoch = p->q[QUANTITY_STEADY_EPOCH].median;
    double comm = 100 * p->q[QUANTITY_COMM].median / epoch,
           data = 100 * p->q[QUANTITY_DATA].median / epoch;
    double efficiency = series_efficiency(s, p)->value;
    int n = snprintf(dst, size, "efficiency drops to %.*f (threshold %.2f)",
                     decision_efficiency_decimals(efficiency), efficiency, DECISION_EFFICIENCY);

    if (isnan(comm) && isnan(data))
        return n + snprintf(dst + n, size - (size_t)n, "; the logs do not show why");
    if (comm >= 5)
        n += snprintf(dst + n, size - (size_t)n, "; %.0f %% of an epoch is exposed communication",
                      comm);
    if (data >= 5)
        n += snprintf(dst + n, size - (size_t)n, "; %.0f %% of an epoch waits for data", data);
    if (p->oversubscribed)
        n += snprintf(dst + n, size - (size_t)n, "; its workers share cores");
    return n;
}

static void explain_limit(struct decision *d, const struct series *s, size_t i)
{
    const struct series_point *p = &s->points[i];
    const struct comparison *c = &d->iou_change[i];
    size_t size = sizeof d->limit_why;
    int n = 0;

    d->limit = p;
    if (isnan(series_efficiency(s, p)->value))
        n = snprintf(d->limit_why, size, "there is no steady epoch to judge by");
    else if (!decision_is_efficient(s, p))
        n = explain_slow(s, p, d->limit_why, size);
    else if (d->iou[i] != DECISION_IOU_FALLS)
        n = snprintf(d->limit_why, size, "the speed-up is %.2f, not above the %.2f with %d",
                     series_speedup(s, p)->value, series_speedup(s, d->reach)->value,
                     d->reach->gpus);
    if (d->iou[i] == DECISION_IOU_FALLS)
        snprintf(d->limit_why + n, size - (size_t)n,
                 "%s%s falls by %.4f (95 %% interval %.4f to %.4f, margin %.2f)", n ? "; " : "",
                 s->quality, -c->difference, -c->interval.high, -c->interval.low, c->margin);
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
        double needed = DECISION_EFFICIENCY * series_ideal(s, gpus);
        if (speedup.expected < needed)
            return;
        d->model_expected = gpus;
        if (speedup.low >= needed && d->model_reach == gpus - 1)
            d->model_reach = gpus;
    }
}

/* Chooses a count to measure beyond the largest one. If the model expects that larger counts are
 * efficient, it is the last of them; if it expects that none is, the next count; without a model,
 * twice the largest. */
static void choose_larger(struct decision *d)
{
    int last = d->reach->gpus;

    if (d->model_expected > last) {
        d->next = d->model_expected;
        snprintf(d->next_why, sizeof d->next_why,
                 d->model_reach == d->model_expected
                     ? "the model predicts an efficiency of %.2f or more up to there"
                     : "the model expects an efficiency of %.2f or more up to there, but its "
                       "interval includes less",
                 DECISION_EFFICIENCY);
    } else if (d->model_expected) {
        d->next = last + 1;
        snprintf(d->next_why, sizeof d->next_why,
                 "the model predicts that efficiency drops below %.2f there", DECISION_EFFICIENCY);
    } else {
        d->next = 2 * last;
        snprintf(d->next_why, sizeof d->next_why,
                 "no count was measured beyond %d, and no model predicts where efficiency drops",
                 last);
    }
}

/* Explains what the number of seeds is based on. */
static void explain_seeds(struct decision *d, const struct series *s)
{
    size_t size = sizeof d->next_why;
    int n;

    if (d->seeds.change == 0)
        n = snprintf(d->next_why, size,
                     "enough to show with a power of %.1f that an unchanged %s holds",
                     COMPARE_POWER, s->quality);
    else
        n = snprintf(d->next_why, size,
                     "enough to decide with a power of %.1f on a change that stays %.4f",
                     COMPARE_POWER, d->seeds.change);
    if (d->seeds.assumed)
        snprintf(d->next_why + n, size - (size_t)n,
                 ", assuming a standard deviation of %.2g over seeds; the first 3 show it",
                 d->seeds.scatter);
    else
        snprintf(d->next_why + n, size - (size_t)n, ", at the standard deviation of %.2g seen",
                 d->seeds.scatter);
}

static void choose_next(struct decision *d, const struct series *s)
{
    if (d->seeds.n) {
        d->next_seeds = d->seeds.n;
        explain_seeds(d, s);
    } else if (!d->limit) {
        choose_larger(d);
    } else {
        int low = d->reach->gpus, high = d->limit->gpus;
        int middle = (int)lround(sqrt((double)low * high));
        if (middle > low && middle < high) {
            d->next = middle;
            snprintf(d->next_why, sizeof d->next_why, "the limit lies between %d and %d", low,
                     high);
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

int decision_compute(struct decision *d, const struct series *s, const struct model *steady,
                     const struct results *table, struct err *e)
{
    *d = (struct decision){.base = s->points,
                           .state = calloc(s->npoints, sizeof *d->state),
                           .iou = calloc(s->npoints, sizeof *d->iou),
                           .iou_change = calloc(s->npoints, sizeof *d->iou_change)};
    if (!d->state || !d->iou || !d->iou_change) {
        decision_destroy(d);
        return mem_fail(e);
    }
    if (classify_points(d, s, e)) {
        decision_destroy(d);
        return -1;
    }
    d->use = find_fastest(d, s, DECISION_PASSES);
    d->reach = find_fastest(d, s, DECISION_UNDECIDED);
    d->best = d->use == d->base ? d->reach : d->use;
    d->speedup = *series_speedup(s, d->best);
    d->efficiency = *series_efficiency(s, d->best);
    d->iou_unusable = find_unusable(d, d->reach);
    find_seeds(d, s);
    if (d->reach + 1 < s->points + s->npoints)
        explain_limit(d, s, (size_t)(d->reach + 1 - s->points));
    find_model_reach(d, s, steady);
    choose_next(d, s);
    caveats_compute(d, s, table);
    return 0;
}

void decision_destroy(struct decision *d)
{
    free(d->state);
    free(d->iou);
    free(d->iou_change);
    d->state = NULL;
    d->iou = NULL;
    d->iou_change = NULL;
}
