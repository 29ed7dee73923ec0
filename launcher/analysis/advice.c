/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/advice.h"

#include <math.h>
#include <stdio.h>

#define FURTHEST 2 /* times the largest measured count: models are asked no further */

/* S(N) E(N), up to a factor. */
static double power(double speedup, double gpus)
{
    return speedup * speedup / gpus;
}

static double measured_power(const struct series *s, const struct series_point *p)
{
    return power(series_speedup(s, p)->value, p->gpus);
}

static void find_knee(struct advice *a, const struct series *s)
{
    const struct series_point *best = NULL;

    for (size_t i = 0; i < s->npoints; i++) {
        double v = measured_power(s, &s->points[i]);
        if (!isnan(v) && (!best || v > measured_power(s, best)))
            best = &s->points[i];
    }
    if (!best || s->npoints < 2)
        return;
    a->knee = best->gpus;
    a->knee_is_last = best == &s->points[s->npoints - 1];
}

/* The most S E of the model between the smallest count and FURTHEST times the largest. */
static double model_knee(const struct series *s, const struct model *m)
{
    int base = s->points[0].gpus, last = FURTHEST * s->points[s->npoints - 1].gpus, best = base;

    for (int n = base + 1; n <= last; n++)
        if (power(model_speedup(m, base, n), n) > power(model_speedup(m, base, best), best))
            best = n;
    return best < last ? best : NAN;
}

static double value_for(const struct series_point *p, enum quantity q)
{
    return q == QUANTITY_COUNT ? p->gpu_hours : p->q[q].median;
}

/* The measured count with the least of q (QUANTITY_COUNT: GPU-hours). */
static void choose_least(struct advice_choice *c, const struct series *s, enum quantity q,
                         const char *what)
{
    const struct series_point *best = NULL;

    for (size_t i = 0; i < s->npoints; i++)
        if (!isnan(value_for(&s->points[i], q)) &&
            (!best || value_for(&s->points[i], q) < value_for(best, q)))
            best = &s->points[i];
    *c = (struct advice_choice){.value = NAN};
    if (!best) {
        snprintf(c->why, sizeof c->why, "no run knows its %s", what);
        return;
    }
    *c = (struct advice_choice){.gpus = best->gpus, .measured = true, .value = value_for(best, q)};
    snprintf(c->why, sizeof c->why, "least %s of the counts measured", what);
}

static bool was_measured(const struct series *s, int gpus)
{
    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].gpus == gpus)
            return true;
    return false;
}

/* The fewest GPUs that are done in time: measured, or between and beyond what was. */
static void meet_deadline(struct advice_choice *c, const struct series *s,
                          const struct model *whole, double deadline_s)
{
    int last = FURTHEST * s->points[s->npoints - 1].gpus;

    *c = (struct advice_choice){.value = NAN};
    if (!(deadline_s > 0)) {
        snprintf(c->why, sizeof c->why, "no deadline was given");
        return;
    }
    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].q[QUANTITY_WHOLE].median <= deadline_s) {
            *c = (struct advice_choice){.gpus = s->points[i].gpus, .measured = true,
                                        .value = s->points[i].q[QUANTITY_WHOLE].median,
                                        .why = "the fewest GPUs measured that are done in time"};
            break;
        }
    for (int n = s->points[0].gpus + 1; whole && n <= last && (!c->gpus || n < c->gpus); n++)
        if (!was_measured(s, n) && model_predict(whole, n) <= deadline_s) {
            *c = (struct advice_choice){.gpus = n, .value = model_predict(whole, n),
                                        .extrapolated = model_is_extrapolation(whole, n)};
            snprintf(c->why, sizeof c->why, "by the %s law%s; it was not measured",
                     model_name(whole->law),
                     n > whole->largest ? ", beyond what was measured" : "");
            return;
        }
    if (!c->gpus)
        snprintf(c->why, sizeof c->why,
                 "no count up to %d, twice the largest measured, is done in time", last);
}

/* The count in the middle (of ratios) of the wider gap beside the knee; 0: there is none. */
static int fill_gap(const struct advice *a, const struct series *s)
{
    double widest = 1;
    int next = 0;

    for (size_t i = 1; i < s->npoints; i++) {
        int low = s->points[i - 1].gpus, high = s->points[i].gpus;
        int middle = (int)lround(sqrt((double)low * high));
        if ((low == a->knee || high == a->knee) && middle > low && middle < high &&
            (double)high / low >= widest) {
            widest = (double)high / low;
            next = middle;
        }
    }
    return next;
}

static void choose_next(struct advice *a, const struct series *s)
{
    int last = s->points[s->npoints - 1].gpus;

    if (s->npoints < 2 || !a->knee) {
        a->next = 2 * last;
        snprintf(a->next_why, sizeof a->next_why, "two counts are the least that can be compared");
    } else if (a->knee_is_last) {
        a->next =
            (int)fmin(2 * last, fmax(last + 1, isnan(a->model_knee) ? 2 * last : a->model_knee));
        snprintf(a->next_why, sizeof a->next_why,
                 "the largest count measured still pays; where GPUs stop to pay lies beyond it");
    } else if (s->npoints < 4) {
        a->next = fill_gap(a, s) ? fill_gap(a, s) : last + 1;
        snprintf(a->next_why, sizeof a->next_why,
                 "four counts are the least for the universal scalability law");
    } else if ((a->next = fill_gap(a, s))) {
        snprintf(a->next_why, sizeof a->next_why, "the knee, now %d, lies within this gap",
                 a->knee);
    } else {
        snprintf(a->next_why, sizeof a->next_why,
                 "the counts beside the knee are measured; more seeds tell more than more counts");
    }
}

void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    const struct model *steady, double deadline_s)
{
    *a = (struct advice){.model_knee = NAN};
    find_knee(a, s);
    if (steady)
        a->model_knee = model_knee(s, steady);
    choose_least(&a->time, s, QUANTITY_WHOLE, "time");
    choose_least(&a->gpu_hours, s, QUANTITY_COUNT, "GPU-hours");
    choose_least(&a->energy, s, QUANTITY_ENERGY, "energy");
    meet_deadline(&a->deadline, s, whole, deadline_s);
    choose_next(a, s);
}
