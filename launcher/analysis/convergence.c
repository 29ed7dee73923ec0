/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/statistics/hypothesis.h"
#include "src/stat.h"

/* Epochs needed are assumed to differ by so much between seeds where that was not seen. */
#define SCATTER_UNSEEN 1.1
#define MAD_SCALE 1.4826 /* makes the median absolute deviation of normal values their sd */

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

/* Fills dst with the known values of the last quarter of the epochs that have one. Returns how many
 * that are. */
static size_t last_quarter(const struct result *r, enum convergence_metric metric, double *dst)
{
    const double *v = values_of(r, metric);
    size_t n = 0, known = 0;

    for (size_t i = 0; v && i < r->curve->n; i++)
        known += !isnan(v[i]);
    for (size_t i = known ? r->curve->n : 0; n < (known + 3) / 4; i--)
        if (!isnan(v[i - 1]))
            dst[n++] = v[i - 1];
    return n;
}

static bool has_score(const struct series *s, double *room)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nrows; i++) {
        if (s->rows[i].limited == 1)
            continue;
        if (!last_quarter(&s->rows[i], CONVERGENCE_SCORE, room))
            return false;
        n++;
    }
    return n > 0;
}

/* Chooses the target (struct convergence). Scatter is by the median absolute deviation, so that a
 * run that collapsed does not decide it. */
static double choose_target(const struct series *s, enum convergence_metric metric, double *room)
{
    double target = NAN;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        size_t n = 0;
        for (size_t k = 0; k < p->nruns; k++)
            n += last_quarter(&p->rows[k], metric, room + n);
        double level = stat_median(room, n);
        for (size_t k = 0; k < n; k++)
            room[k] = fabs(room[k] - level);
        double margin = CONVERGENCE_SCATTER * MAD_SCALE * stat_median(room, n);
        target = is_rising(s, metric) ? fmin(target, level - margin) : fmax(target, level + margin);
    }
    return target;
}

/* Returns how many epochs it takes until `hits` of `window` values reach the target, or with shift
 * -1 or 1 the epoch with a value before or behind it, and sets what these took; INFINITY if they
 * never do. */
static double spend(const struct result *r, const double *v, double target, bool rising, int window,
                    int hits, int shift, double *seconds, double *joules)
{
    long reached = curve_reach(v, r->curve->n, target, rising, window, hits), at = reached + shift;

    while (reached >= 0 && at >= 0 && (size_t)at < r->curve->n && isnan(v[at]))
        at += shift;
    if (reached >= 0 && at >= 0 && (size_t)at < r->curve->n)
        reached = at;
    *seconds = *joules = reached < 0 ? INFINITY : 0;
    for (long k = 0; k <= reached; k++) {
        *seconds += r->curve->seconds[k];
        *joules += r->curve->joules[k];
    }
    return reached < 0 ? INFINITY : (double)reached + 1;
}

/* Measures the time to the target. A run that never reaches it counts as infinite, so the median
 * is finite only if more than half of the runs do. A single run has no scatter but that of its
 * epochs, so its range is wider. */
static void measure_convergence(struct convergence_point *c, const struct series *s,
                                const struct series_point *p, enum convergence_metric metric,
                                double target, double *room)
{
    double *epochs = room, *seconds = room + p->nruns, *joules = room + 2 * p->nruns;
    bool up = is_rising(s, metric);
    int window = p->nruns == 1 ? 5 : 3, shift = p->nruns == 1;

    *c = (struct convergence_point){.gpus = p->gpus, .least_s = INFINITY, .least = INFINITY};
    for (size_t i = 0; i < p->nruns; i++) {
        const struct result *r = &p->rows[i];
        const double *v = values_of(r, metric);
        double least_s, most_s, energy;
        if (!v)
            continue;
        size_t k = c->nruns++;
        epochs[k] = spend(r, v, target, up, 3, 2, 0, &seconds[k], &joules[k]);
        double least = spend(r, v, target, up, 1, 1, -shift, &least_s, &energy),
               most = spend(r, v, target, up, window, window, shift, &most_s, &energy);
        bool late = isinf(most); /* the run ended too soon to show that it stays there */
        c->nreached += isfinite(epochs[k]);
        c->least_s = fmin(c->least_s, least_s);
        c->most_s = fmax(c->most_s, late ? seconds[k] : most_s);
        c->least = fmin(c->least, least);
        c->most = fmax(c->most, late ? epochs[k] : most);
    }
    c->epochs = stat_median(epochs, c->nruns);
    for (size_t i = 0; i < c->nruns; i++)
        if (isnan(seconds[i]))
            c->nruns = 0; /* without times of epochs, there is no time to accuracy */
    c->seconds = stat_median(seconds, c->nruns);
    c->energy_kwh = stat_median(joules, c->nruns) / 3.6e6;
    for (size_t i = 0; i < c->nruns; i++)
        c->energy_kwh = isnan(joules[i]) ? NAN : c->energy_kwh;
    /* intervals are not of the same work at all counts */
    c->epochs = isfinite(c->epochs) && !s->stepped ? c->epochs : NAN;
    c->seconds = isfinite(c->seconds) ? c->seconds : NAN;
    c->energy_kwh = isfinite(c->energy_kwh) ? c->energy_kwh : NAN;
    c->epoch_s = c->seconds / c->epochs;
}

static void compare_point(struct convergence_point *p, const struct convergence_point *base)
{
    bool ranges = p != base && p->nruns && base->nruns && isfinite(p->most_s) &&
                  isfinite(base->most_s);

    double unseen = p->nruns == 1 || base->nruns == 1 ? SCATTER_UNSEEN : 1;

    p->epochs_ratio = p->epochs / base->epochs;
    p->epochs_ratio_least = p->epochs_ratio_most = NAN;
    if (ranges && !isnan(p->epochs)) {
        p->epochs_ratio_least = (p->least - 0.5) / (base->most + 0.5) / unseen;
        p->epochs_ratio_most = (p->most + 0.5) / (base->least - 0.5) * unseen;
    }
    p->epoch_s_ratio = base->epoch_s / p->epoch_s;
    p->speedup = base->seconds / p->seconds;
    p->speedup_least = ranges ? base->least_s / p->most_s / unseen : NAN;
    p->speedup_most = ranges ? base->most_s / p->least_s * unseen : NAN;
}

int convergence_compute(struct convergence *c, const struct series *s, double score_target,
                        double loss_target, struct err *e)
{
    size_t n = 3 * s->nrows;

    for (size_t i = 0; i < s->nrows; i++)
        n += s->rows[i].curve ? s->rows[i].curve->n : 0;
    double *room = calloc(n + 1, sizeof *room);

    *c = (struct convergence){.target = NAN, .points = calloc(s->npoints + 1, sizeof *c->points)};
    if (!room || !c->points) {
        free(room);
        convergence_destroy(c);
        return mem_fail(e);
    }
    bool scored = c->scored = has_score(s, room);
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
        n->nruns += isfinite(s->rows[i].grad_sq) && isfinite(s->rows[i].grad_var);
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
