/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/convergence.h"

#include <math.h>
#include <stdlib.h>

#include "src/mem.h"
#include "src/stat.h"

static const double *values_of(const struct result *r, enum convergence_metric metric)
{
    if (!r->curve || r->limited == 1)
        return NULL;
    return metric == CONVERGENCE_SCORE ? r->curve->score : r->curve->loss;
}

/* Returns whether a larger value of the metric is the better one. */
static bool is_rising(const struct series *s, enum convergence_metric metric)
{
    return metric == CONVERGENCE_SCORE && !s->lower;
}

/* Returns the best value that a run ever reaches, or NaN if it has none. */
static double best_of(const struct series *s, const struct result *r,
                      enum convergence_metric metric)
{
    const double *v = values_of(r, metric);
    double best = NAN;

    for (size_t i = 0; v && i < r->curve->n; i++)
        best = is_rising(s, metric) ? fmax(best, v[i]) : fmin(best, v[i]);
    return best;
}

static bool has_score(const struct series *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nrows; i++) {
        if (s->rows[i].limited == 1)
            continue;
        if (isnan(best_of(s, &s->rows[i], CONVERGENCE_SCORE)))
            return false;
        n++;
    }
    return n > 0;
}

/* Chooses the target: the value that the median run of the worst count reaches. */
static double choose_target(const struct series *s, enum convergence_metric metric, double *room)
{
    double target = NAN;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        size_t n = 0;
        for (size_t k = 0; k < p->nruns; k++)
            if (!isnan(best_of(s, &p->rows[k], metric)))
                room[n++] = best_of(s, &p->rows[k], metric);
        double median = stat_median(room, n);
        target = is_rising(s, metric) ? fmin(target, median) : fmax(target, median);
    }
    return target;
}

/* Measures the time to the target. A run that never reaches it counts as infinite, so the median
 * is finite only if more than half of the runs do. */
static void measure_convergence(struct convergence_point *c, const struct series *s,
                                const struct series_point *p, enum convergence_metric metric,
                                double target, double *room)
{
    double *epochs = room, *seconds = room + p->nruns, *joules = room + 2 * p->nruns;

    *c = (struct convergence_point){.gpus = p->gpus, .least_s = INFINITY};
    for (size_t i = 0; i < p->nruns; i++) {
        const double *v = values_of(&p->rows[i], metric);
        if (!v)
            continue;
        long reached = curve_reach(v, p->rows[i].curve->n, target, is_rising(s, metric));
        double sum = reached < 0 ? INFINITY : 0, energy = sum;
        for (long k = 0; k <= reached; k++) {
            sum += p->rows[i].curve->seconds[k];
            energy += p->rows[i].curve->joules[k];
        }
        joules[c->nruns] = energy;
        c->nreached += reached >= 0;
        c->least_s = fmin(c->least_s, sum);
        c->most_s = fmax(c->most_s, sum);
        epochs[c->nruns] = reached < 0 ? INFINITY : (double)reached + 1;
        seconds[c->nruns++] = sum;
    }
    c->epochs = stat_median(epochs, c->nruns);
    for (size_t i = 0; i < c->nruns; i++)
        if (isnan(seconds[i]))
            c->nruns = 0; /* without times of epochs, there is no time to accuracy */
    c->seconds = stat_median(seconds, c->nruns);
    c->energy_kwh = stat_median(joules, c->nruns) / 3.6e6;
    for (size_t i = 0; i < c->nruns; i++)
        c->energy_kwh = isnan(joules[i]) ? NAN : c->energy_kwh;
    if (!isfinite(c->epochs))
        c->epochs = NAN;
    if (!isfinite(c->seconds))
        c->seconds = NAN;
    if (!isfinite(c->energy_kwh))
        c->energy_kwh = NAN;
    if (s->stepped) /* intervals are not of the same work at all counts */
        c->epochs = NAN;
    c->epoch_s = c->seconds / c->epochs;
}

static void compare_point(struct convergence_point *p, const struct convergence_point *base)
{
    bool ranges = p != base && p->nruns > 1 && base->nruns > 1 && isfinite(p->most_s) &&
                  isfinite(base->most_s);

    p->epochs_ratio = p->epochs / base->epochs;
    p->epoch_s_ratio = base->epoch_s / p->epoch_s;
    p->speedup = base->seconds / p->seconds;
    p->speedup_least = ranges ? base->least_s / p->most_s : NAN;
    p->speedup_most = ranges ? base->most_s / p->least_s : NAN;
}

int convergence_compute(struct convergence *c, const struct series *s, double score_target,
                        double loss_target, struct err *e)
{
    double *room = calloc(3 * s->nrows + 1, sizeof *room);

    *c = (struct convergence){.target = NAN, .points = calloc(s->npoints + 1, sizeof *c->points)};
    if (!room || !c->points) {
        free(room);
        convergence_destroy(c);
        return mem_fail(e);
    }
    bool scored = c->scored = has_score(s);
    c->chosen = !isnan(loss_target) || (scored && !isnan(score_target));
    c->metric = scored && isnan(loss_target) ? CONVERGENCE_SCORE : CONVERGENCE_LOSS;
    c->target = !c->chosen ? choose_target(s, c->metric, room)
                : c->metric == CONVERGENCE_SCORE ? score_target : loss_target;
    if (isnan(c->target)) {
        c->metric = CONVERGENCE_NONE;
        free(room);
        return 0;
    }
    c->npoints = s->npoints;
    for (size_t i = 0; i < c->npoints; i++) {
        measure_convergence(&c->points[i], s, &s->points[i], c->metric, c->target, room);
        compare_point(&c->points[i], c->points);
    }
    free(room);
    return 0;
}

void convergence_destroy(struct convergence *c)
{
    free(c->points);
    *c = (struct convergence){0};
}
