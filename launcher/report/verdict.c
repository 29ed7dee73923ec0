/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/verdict.h"

#include <math.h>
#include <string.h>

/* A part of an epoch below this share is not called a cause. */
#define CAUSE_SHARE 0.05
/* A network below this IoU has not learnt to segment. */
#define LEARNT_IOU 0.1
/* More than this is no speed-up of training, but a base case that was slowed down. */
#define SUSPICIOUS_EFFICIENCY 1.1

bool verdict_passes(const struct scaling *s, size_t i, double iou_margin)
{
    const struct scaling_point *p = &s->points[i];
    double fall = s->points[0].iou.median - p->iou.median;

    return p->efficiency >= VERDICT_EFFICIENCY && !(fall > iou_margin);
}

struct verdict verdict_compute(const struct scaling *s)
{
    const struct scaling_spread *iou = &s->points[0].iou;
    struct verdict v = {.worth = s->points[0].gpus,
                        .iou_margin = fmax(VERDICT_IOU_DROP, iou->max - iou->min),
                        .enough_repeats = true};

    for (size_t i = 0; i < s->npoints; i++) {
        const struct scaling_point *p = &s->points[i];
        if (i > 0 && verdict_passes(s, i, v.iou_margin))
            v.worth = p->gpus;
        v.enough_repeats &= p->nruns >= VERDICT_REPEATS;
        v.oversubscribed |= p->oversubscribed;
    }
    for (size_t i = s->npoints; i-- > 0 && s->points[i].gpus > v.worth;)
        v.beyond = s->points[i].gpus;
    return v;
}

static const struct scaling_point *point_of(const struct scaling *s, int gpus)
{
    const struct scaling_point *p = s->points;

    while (p->gpus != gpus)
        p++;
    return p;
}

static const char *plural(int gpus)
{
    return gpus == 1 ? "" : "s";
}

/* Neighbouring points are told as one: "2, 4..14". */
static void explain_machine(const struct scaling *s, struct buf *b)
{
    const char *comma = "";

    buf_add(b, "This speed-up measures the machine, not the method: with ");
    for (size_t i = 0, last; i < s->npoints; i = last + 1) {
        last = i;
        if (!s->points[i].oversubscribed)
            continue;
        while (last + 1 < s->npoints && s->points[last + 1].oversubscribed)
            last++;
        buf_addf(b, "%s%d", comma, s->points[i].gpus);
        if (last > i)
            buf_addf(b, "%s%d", last > i + 1 ? ".." : ", ", s->points[last].gpus);
        comma = ", ";
    }
    buf_add(b, " GPUs the workers outnumber the cores they run on.\n");
}

static void explain_quality(const struct scaling *s, struct buf *b)
{
    double best = 0;

    for (size_t i = 0; i < s->npoints; i++)
        best = fmax(best, s->points[i].iou.median);
    if (best < LEARNT_IOU && !isnan(s->points[0].iou.median))
        buf_addf(b, "No network has learnt to segment (the best IoU is %.3f): the times hold, the "
                    "quality tells nothing yet. Train longer.\n", best);
}

static void explain_too_good(const struct scaling *s, struct buf *b)
{
    double best = 0;

    for (size_t i = 0; i < s->npoints; i++)
        best = fmax(best, s->points[i].efficiency);
    if (best > SUSPICIOUS_EFFICIENCY)
        buf_addf(b, "An efficiency of %.2f is more than ideal: caches, or other work on the machine "
                    "while the base case ran. Repeat it.\n", best);
}

static void explain_worth(const struct verdict *v, const struct scaling *s, struct buf *b)
{
    const struct scaling_point *base = s->points, *p = point_of(s, v->worth);

    if (p == base) {
        buf_addf(b, "%d GPU%s (%s): no larger number that was measured is worth it.\n", v->worth,
                 plural(v->worth), s->engine);
        return;
    }
    buf_addf(b, "%d GPUs are worth it (%s): %.2f times as fast as %d GPU%s in steady epochs, "
                "efficiency %.2f", v->worth, s->engine, p->speedup_steady, base->gpus,
             plural(base->gpus), p->efficiency);
    if (!isnan(p->iou.median) && !isnan(base->iou.median))
        buf_addf(b, ", IoU %.3f against %.3f", p->iou.median, base->iou.median);
    buf_add(b, ".\n");
}

/* What an epoch of p waits for, where the records tell. */
static void explain_cause(const struct scaling_point *p, struct buf *b)
{
    double comm = p->comm_s.median / p->epoch_s.median, data = p->data_s.median / p->epoch_s.median;

    if (p->oversubscribed)
        buf_add(b, "; the workers share cores");
    if (comm >= CAUSE_SHARE)
        buf_addf(b, "; waiting for communication takes %.0f %% of an epoch", 100 * comm);
    if (data >= CAUSE_SHARE)
        buf_addf(b, "; waiting for data takes %.0f %% of an epoch", 100 * data);
    if (isnan(comm) && isnan(data))
        buf_add(b, "; these logs do not say why");
}

/* Why p does not pass. */
static void explain_failing(const struct verdict *v, const struct scaling *s,
                            const struct scaling_point *p, struct buf *b)
{
    double fall = s->points[0].iou.median - p->iou.median;
    bool slow = !(p->efficiency >= VERDICT_EFFICIENCY);

    if (isnan(p->efficiency)) {
        buf_add(b, "there is no steady epoch to judge by");
    } else if (slow) {
        buf_addf(b, "efficiency is %.2f, below %.2f", p->efficiency, VERDICT_EFFICIENCY);
        explain_cause(p, b);
    }
    if (fall > v->iou_margin)
        buf_addf(b, "%sIoU is %.3f, %.3f below that of %d GPU%s (%.3f is allowed)", slow ? "; " : "",
                 p->iou.median, fall, s->points[0].gpus, plural(s->points[0].gpus), v->iou_margin);
}

static void explain_beyond(const struct verdict *v, const struct scaling *s, struct buf *b)
{
    if (!v->beyond) {
        buf_addf(b, "No number measured was too large; what lies beyond %d GPUs is not known.\n",
                 v->worth);
        return;
    }
    buf_addf(b, "What limits: with %d GPUs ", v->beyond);
    explain_failing(v, s, point_of(s, v->beyond), b);
    buf_add(b, ".\n");
}

/* The rule looks for the largest count; some below it may fail. */
static void explain_gaps(const struct verdict *v, const struct scaling *s, struct buf *b)
{
    const char *before = "But not every smaller number passes: ";

    for (size_t i = 1; i < s->npoints && s->points[i].gpus < v->worth; i++) {
        const struct scaling_point *p = &s->points[i];
        if (verdict_passes(s, i, v->iou_margin))
            continue;
        buf_addf(b, "%s%d GPUs (efficiency %.2f, IoU %.3f)", before, p->gpus, p->efficiency,
                 p->iou.median);
        before = ", ";
    }
    if (*before == ',')
        buf_add(b, ".\n");
}

static void explain_warm_up(const struct verdict *v, const struct scaling *s, struct buf *b)
{
    const struct scaling_point *p = point_of(s, v->worth);

    if (p->efficiency - p->efficiency_total > 0.05)
        buf_addf(b, "Start-up costs: over the whole training the efficiency is %.2f, because the "
                    "first epoch takes %.1f s and a steady one %.2f s.\n",
                 p->efficiency_total, p->first_epoch_s.median, p->epoch_s.median);
}

static void explain_statistics(const struct verdict *v, const struct scaling *s, struct buf *b)
{
    size_t fewest = s->points[0].nruns;

    for (size_t i = 1; i < s->npoints; i++)
        if (s->points[i].nruns < fewest)
            fewest = s->points[i].nruns;
    if (!v->enough_repeats)
        buf_addf(b, "Not enough repeats to tell a difference of IoU from chance: %zu run%s per count "
                    "at the least, %d are needed (submit with --seeds %d).\n",
                 fewest, fewest == 1 ? "" : "s", VERDICT_REPEATS, VERDICT_REPEATS);
    if (isnan(s->points[0].iou.median))
        buf_add(b, "The IoU of the base case is not known: only the efficiency was judged.\n");
    if (s->points[0].gpus > 1)
        buf_addf(b, "The base case is %d GPUs, the smallest number measured; there is no run on 1 "
                    "GPU. An ideal speed-up is N / %d.\n", s->points[0].gpus, s->points[0].gpus);
}

void verdict_explain(const struct verdict *v, const struct scaling *s, struct buf *b)
{
    if (v->oversubscribed)
        explain_machine(s, b);
    explain_quality(s, b);
    explain_worth(v, s, b);
    explain_too_good(s, b);
    explain_beyond(v, s, b);
    explain_gaps(v, s, b);
    explain_warm_up(v, s, b);
    explain_statistics(v, s, b);
}
