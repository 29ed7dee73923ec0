/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/statistics/hypothesis.h"
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

/* ---- the gradient noise scale ---- */

#define UNITS_FEWEST 3 /* the fewest units that give an interval */

/* Values that are treated as independent: runs, or blocks of epochs. */
struct units {
    double *gradient, *noise; /* |G|^2 and tr(Sigma): a run's means, or the sums of a block */
    size_t n;
};

static void add_unit(struct units *u, double gradient, double noise)
{
    if (!isfinite(gradient) || !isfinite(noise))
        return;
    u->gradient[u->n] = gradient;
    u->noise[u->n++] = noise;
}

/* Adds blocks of the epochs after the first. Neighbouring epochs are correlated, so a block has
 * n^(1/3) of these n epochs, rounded up, a length that grows with n as in the block bootstrap of
 * time series (Kuensch 1989). A last, shorter block is left out. */
static void add_blocks(struct units *u, const struct curve *c)
{
    size_t length = c->n ? (size_t)ceil(cbrt((double)(c->n - 1))) : 0; /* 0: no such epoch */

    for (size_t from = 1; length && from + length <= c->n; from += length) {
        double gradient = 0, noise = 0;
        for (size_t i = from; i < from + length; i++) {
            gradient += c->grad_sq[i];
            noise += c->grad_var[i];
        }
        add_unit(u, gradient, noise);
    }
}

/* Returns the logarithm of noise / gradient, each summed over the units except unit `out` (over all
 * if out is u->n), or NaN if noise hides the gradient. */
static double log_ratio(const struct units *u, size_t out)
{
    double gradient = 0, noise = 0;

    for (size_t i = 0; i < u->n; i++) {
        gradient += i == out ? 0 : u->gradient[i];
        noise += i == out ? 0 : u->noise[i];
    }
    return noise > 0 && gradient > 0 ? log(noise / gradient) : NAN;
}

/* Jackknife interval (Tukey 1958) of the logarithm: its pseudovalues are treated like the values
 * of a mean, with Student's t. */
static struct interval jackknife_interval(const struct units *u, double *room)
{
    double all = log_ratio(u, u->n);

    if (u->n < UNITS_FEWEST)
        return interval_none();
    for (size_t i = 0; i < u->n; i++)
        room[i] = (double)u->n * all - (double)(u->n - 1) * log_ratio(u, i);
    struct interval found = student_paired(room, u->n, INTERVAL_LEVEL).interval;
    if (!isfinite(found.low) || !isfinite(found.high))
        return interval_none();
    return (struct interval){exp(found.low), exp(found.high), INTERVAL_LEVEL, INTERVAL_JACKKNIFE};
}

static bool knows_gradient(const struct result *r)
{
    return isfinite(r->grad_sq) && isfinite(r->grad_var);
}

static void estimate_noise(struct noise_scale *n, const struct series *s, double *room, size_t most)
{
    struct units units = {room, room + most, 0};

    for (size_t i = 0; i < s->nrows; i++)
        add_unit(&units, s->rows[i].grad_sq, s->rows[i].grad_var);
    n->critical_batch = exp(log_ratio(&units, units.n));
    if (n->over_epochs)
        units.n = 0;
    for (size_t i = 0; n->over_epochs && i < s->nrows; i++)
        if (s->rows[i].curve && s->rows[i].curve->grad_sq)
            add_blocks(&units, s->rows[i].curve);
    n->interval = jackknife_interval(&units, room + 2 * most);
}

void noise_scale_compute(struct noise_scale *n, const struct series *s)
{
    size_t most = s->nrows;

    *n = (struct noise_scale){.critical_batch = NAN, .gpus = NAN, .interval = interval_none(),
                              .why_not = "out of memory"};
    for (size_t i = 0; i < s->nrows; i++)
        n->nruns += knows_gradient(&s->rows[i]);
    n->over_epochs = n->nruns < UNITS_FEWEST;
    for (size_t i = 0; n->over_epochs && i < s->nrows; i++)
        most += s->rows[i].curve && s->rows[i].curve->grad_sq ? s->rows[i].curve->n : 0;
    double *room = calloc(3 * most + 1, sizeof *room);
    if (!room)
        return;
    estimate_noise(n, s, room, most);
    free(room);
    n->measured = !isnan(n->critical_batch);
    if (n->measured && s->points[0].batch_per_gpu)
        n->gpus = n->critical_batch / (double)s->points[0].batch_per_gpu;
    if (!n->measured)
        snprintf(n->why_not, sizeof n->why_not, "%s",
                 n->nruns ? "the gradient is lost in its noise: train longer or with a larger batch"
                          : "not measured: it takes runs on 2 GPUs or more whose record has the "
                            "norms of gradients before and after they are summed");
}

double noise_scale_images(const struct noise_scale *n, long from, long to)
{
    if (!n->measured || from < 1 || to < 1)
        return NAN;
    return (1 + (double)to / n->critical_batch) / (1 + (double)from / n->critical_batch);
}
