/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/decision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/analysis/caveats.h"

const char *decision_iou_name(enum decision_iou iou)
{
    static const char *const names[] = {
        [DECISION_IOU_UNKNOWN] = "unknown",
        [DECISION_IOU_HOLDS] = "holds",
        [DECISION_IOU_UNCERTAIN] = "uncertain",
        [DECISION_IOU_FALLS] = "falls",
    };

    return names[iou];
}

static enum decision_iou judge_iou(const struct comparison *c)
{
    if (isnan(c->a) || isnan(c->b))
        return DECISION_IOU_UNKNOWN;
    if (!(c->a - c->b > c->margin))
        return DECISION_IOU_HOLDS;
    if (c->test == COMPARE_NONE || c->test == COMPARE_IMAGES)
        return DECISION_IOU_UNCERTAIN;
    if (c->significant)
        return DECISION_IOU_FALLS;
    return c->enough && c->interval.high >= 0 ? DECISION_IOU_HOLDS : DECISION_IOU_UNCERTAIN;
}

static int compare_iou(struct decision *d, const struct series *s, struct err *e)
{
    const struct series_point *base = s->points;

    for (size_t i = 1; i < s->npoints; i++)
        if (compare_runs(&d->iou_change[i], base->rows, base->nruns, s->points[i].rows,
                         s->points[i].nruns, QUANTITY_IOU, DECISION_IOU_MARGIN, e))
            return -1;
    compare_correct(d->iou_change + 1, s->npoints - 1);
    d->iou[0] = isnan(base->q[QUANTITY_IOU].median) ? DECISION_IOU_UNKNOWN : DECISION_IOU_HOLDS;
    for (size_t i = 1; i < s->npoints; i++)
        d->iou[i] = judge_iou(&d->iou_change[i]);
    return 0;
}

static bool is_efficient(const struct series *s, const struct series_point *p)
{
    return series_efficiency(s, p)->value >= DECISION_EFFICIENCY;
}

static bool passes(const struct decision *d, const struct series *s, size_t i, int knee)
{
    const struct series_point *p = &s->points[i];

    return is_efficient(s, p) && d->iou[i] <= DECISION_IOU_HOLDS && (!knee || p->gpus <= knee);
}

/* What an epoch of p waits for, where the records tell. */
static int explain_slow(const struct series *s, const struct series_point *p, char *dst,
                        size_t size)
{
    double epoch = p->q[QUANTITY_STEADY_EPOCH].median;
    double comm = 100 * p->q[QUANTITY_COMM].median / epoch,
           data = 100 * p->q[QUANTITY_DATA].median / epoch;
    int n = snprintf(dst, size, "its efficiency is %.2f, below %.2f",
                     series_efficiency(s, p)->value, DECISION_EFFICIENCY);

    if (isnan(comm) && isnan(data))
        return n + snprintf(dst + n, size - (size_t)n, "; these logs do not say why");
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
    size_t size = sizeof d->limit_why;
    int n = 0;

    d->limit = p;
    if (isnan(series_efficiency(s, p)->value))
        n = snprintf(d->limit_why, size, "there is no steady epoch to judge by");
    else if (!is_efficient(s, p))
        n = explain_slow(s, p, d->limit_why, size);
    else if (d->iou[i] <= DECISION_IOU_HOLDS)
        n = snprintf(d->limit_why, size, "GPU-hours rise by a larger share than time falls");
    if (d->iou[i] > DECISION_IOU_HOLDS)
        snprintf(d->limit_why + n, size - (size_t)n, "%sits %s is %.3f against %.3f%s",
                 n ? "; " : "", s->quality, d->iou_change[i].b, d->iou_change[i].a,
                 d->iou[i] == DECISION_IOU_FALLS
                     ? ""
                     : ", and repeats are too few to call that chance");
}

int decision_compute(struct decision *d, const struct series *s, const struct advice *advice,
                     const struct results *table, struct err *e)
{
    size_t best = 0;

    *d = (struct decision){.base = s->points, .beyond_model = NAN,
                           .iou = calloc(s->npoints, sizeof *d->iou),
                           .iou_change = calloc(s->npoints, sizeof *d->iou_change)};
    if (!d->iou || !d->iou_change) {
        decision_destroy(d);
        return err_set(e, ERR_INTERNAL, "out of memory for %zu counts", s->npoints);
    }
    if (compare_iou(d, s, e)) {
        decision_destroy(d);
        return -1;
    }
    for (size_t i = 1; i < s->npoints; i++)
        if (passes(d, s, i, advice->knee))
            best = i;
    d->best = &s->points[best];
    d->speedup = *series_speedup(s, d->best);
    d->efficiency = *series_efficiency(s, d->best);
    d->beyond = advice->knee_is_last ? 0 : advice->knee;
    if (!d->beyond && advice->model_knee > s->points[s->npoints - 1].gpus)
        d->beyond_model = advice->model_knee;
    if (best + 1 < s->npoints)
        explain_limit(d, s, best + 1);
    caveats_compute(d, s, table);
    return 0;
}

void decision_destroy(struct decision *d)
{
    free(d->iou);
    free(d->iou_change);
    d->iou = NULL;
    d->iou_change = NULL;
}
