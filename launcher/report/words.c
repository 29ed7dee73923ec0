/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/words.h"

#include <math.h>
#include <stdlib.h>

#include "src/buf.h"

/* Below this difference of efficiencies what is no steady epoch is no matter. */
#define OVERHEAD_SHARE 0.05
/* A law that misses a count left out by more foretells nothing. */
#define POOR_FIT 0.2

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* " (95 % interval 5.6-5.9)" */
static void add_interval(struct buf *b, const struct interval *i, int decimals)
{
    if (!interval_is_known(i))
        return;
    if (i->method == INTERVAL_EPOCHS)
        buf_addf(b, " (%.*f-%.*f by the epochs of single runs)", decimals, i->low, decimals,
                 i->high);
    else
        buf_addf(b, " (%.0f %% interval %.*f-%.*f)", 100 * i->level, decimals, i->low, decimals,
                 i->high);
}

/* Two decimals where an interval is that narrow. */
static int speedup_decimals(const struct ratio *r)
{
    return interval_is_known(&r->interval) && r->interval.high - r->interval.low >= 0.2 ? 1 : 2;
}

static void add_iou(struct buf *b, const struct decision *d, const char *quality, size_t best)
{
    const struct comparison *c = &d->iou_change[best];

    if (d->iou[best] == DECISION_IOU_UNKNOWN) {
        buf_addf(b, ", %s not known", quality);
    } else if (c->significant && c->difference > 0) {
        buf_addf(b, ", %s better (%.3f vs %.3f, significant)", quality, c->b, c->a);
    } else if (c->significant) {
        buf_addf(b, ", %s lower by less than %.3f (%.3f vs %.3f)", quality, c->margin, c->b, c->a);
    } else if (c->test == COMPARE_NONE) {
        buf_addf(b, ", %s %.3f vs %.3f (one run each: no test)", quality, c->b, c->a);
    } else if (c->enough) {
        buf_addf(b, ", %s unchanged (%.3f vs %.3f, difference not significant)", quality, c->b,
                 c->a);
    } else {
        buf_addf(
            b,
            ", %s %.3f vs %.3f (difference not significant, but too few runs to see one of %.3f)",
            quality, c->b, c->a, c->margin);
    }
}

static void add_use(struct buf *b, const struct analysis_series *as, const char *label)
{
    const struct decision *d = &as->decision;
    size_t best = (size_t)(d->best - as->series.points);

    buf_addf(b, "Use %d GPU%s", d->best->gpus, plural(d->best->gpus));
    if (label)
        buf_addf(b, " (%s)", label);
    if (d->best == d->base) {
        buf_add(b, ": no larger number that was measured is worth it.");
        return;
    }
    int decimals = speedup_decimals(&d->speedup);
    buf_addf(b,
             as->series.mode == SERIES_WEAK ? ": %.*fx the images per second of %d"
                                            : ": %.*fx faster than %d",
             decimals, d->speedup.value, d->base->gpus);
    add_interval(b, &d->speedup.interval, decimals);
    add_iou(b, d, as->series.quality, best);
    buf_add(b, ".");
}

static void add_beyond(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    int last = as->series.points[as->series.npoints - 1].gpus;

    if (d->beyond) {
        buf_addf(b, " Beyond %d the extra GPUs cost more than they save.", d->beyond);
        return;
    }
    if (d->best == d->base)
        return;
    buf_addf(b, " Up to %d, the most that was measured, extra GPUs save more than they cost", last);
    if (isfinite(d->beyond_model))
        buf_addf(b, "; by the fitted law that ends at about %.0f", d->beyond_model);
    buf_add(b, ".");
}

static void add_limit(struct buf *b, const struct decision *d)
{
    if (d->limit)
        buf_addf(b, "What limits: with %d GPUs %s.\n", d->limit->gpus, d->limit_why);
    else
        buf_addf(b, "No number measured was too large; what lies beyond %d GPUs is not known.\n",
                 d->best->gpus);
}

/* The rule looks for the largest count; some below it may fail. */
static void add_gaps(struct buf *b, const struct analysis_series *as)
{
    const char *before = "But not every smaller number passes: ";
    const struct decision *d = &as->decision;

    for (const struct series_point *p = d->base + 1; p < d->best; p++) {
        const struct ratio *efficiency = series_efficiency(&as->series, p);
        enum decision_iou iou = d->iou[p - as->series.points];
        if (efficiency->value >= DECISION_EFFICIENCY &&
            (iou == DECISION_IOU_HOLDS || iou == DECISION_IOU_UNKNOWN))
            continue;
        buf_addf(b, "%s%d GPUs (efficiency %.2f, %s %.3f)", before, p->gpus, efficiency->value,
                 as->series.quality, p->q[QUANTITY_IOU].median);
        before = ", ";
    }
    if (*before == ',')
        buf_add(b, ".\n");
}

/* What of a whole run is no steady epoch, and grows against the base case most of all. */
static void add_overhead(struct buf *b, const struct analysis_series *as)
{
    const struct series_point *p = as->decision.best, *base = as->decision.base;
    double lost = p->efficiency[QUANTITY_STEADY_EPOCH].value - p->efficiency[QUANTITY_WHOLE].value;
    double ideal = series_ideal(&as->series, p->gpus), most = 0;
    const enum quantity parts[] = {QUANTITY_STARTUP, QUANTITY_FIRST_EPOCH, QUANTITY_EVALUATION};
    enum quantity cause = QUANTITY_COUNT;

    if (!(lost > OVERHEAD_SHARE) || as->series.mode == SERIES_WEAK)
        return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        double excess = p->q[parts[i]].median - base->q[parts[i]].median / ideal;
        if (excess > most) {
            most = excess;
            cause = parts[i];
        }
    }
    buf_addf(b, "Over the whole run the efficiency is %.2f", p->efficiency[QUANTITY_WHOLE].value);
    if (cause != QUANTITY_COUNT)
        buf_addf(b, ": of its %.1f s, %s takes %.1f s, with %d GPU%s it was %.1f s of %.1f s",
                 p->q[QUANTITY_WHOLE].median,
                 cause == QUANTITY_FIRST_EPOCH ? "the first epoch" : quantity_name(cause),
                 p->q[cause].median, base->gpus, plural(base->gpus), base->q[cause].median,
                 base->q[QUANTITY_WHOLE].median);
    buf_add(b, ".\n");
}

static void add_law(struct buf *b, const struct analysis_series *as)
{
    const struct model *m = as->steady_choice;

    if (!m)
        return;
    if (m->loo_error > POOR_FIT)
        buf_addf(b, "No law fits well; the best is %s, ", model_name(m->law));
    else
        buf_addf(b, "The law that fits best: %s, ", model_name(m->law));
    model_describe(m, b);
    if (isfinite(m->loo_error))
        buf_addf(b, "; a count left out is predicted within %.1f %%", 100 * m->loo_error);
    if (isfinite(m->peak))
        buf_addf(b, "; the least time would be with %.0f GPUs%s", m->peak,
                 model_is_extrapolation(m, m->peak) ? ", far beyond what was measured" : "");
    buf_add(b, ".\n");
}

/* "14 GPUs (599 s)" */
static void add_choice(struct buf *b, const char *before, const struct advice_choice *c,
                       const char *unit)
{
    if (!c->gpus)
        return;
    buf_addf(b, "%s%d GPU%s (%.4g %s%s%s)", before, c->gpus, plural(c->gpus), c->value, unit,
             c->measured ? "" : ", by the fitted law",
             c->extrapolated ? ", far beyond what was measured" : "");
}

static void add_advice(struct buf *b, const struct analysis_series *as, bool deadline)
{
    const struct advice *a = &as->advice;

    if (as->series.mode == SERIES_WEAK) {
        buf_add(b, "The work grows with the GPUs (weak scaling): a whole run with more of them is not "
                   "faster or cheaper, it trains on more images.\n");
    } else if (a->time.gpus && a->gpu_hours.gpus) {
        add_choice(b, "Fastest whole run, start-up and evaluation included: ", &a->time, "s");
        add_choice(b, "; fewest GPU-hours: ", &a->gpu_hours, "GPU-hours");
        add_choice(b, "; least energy: ", &a->energy, "kWh");
        buf_add(b, a->energy.gpus ? ".\n"
                                  : "; energy was not recorded (--watts W would estimate it).\n");
    }
    if (deadline && a->deadline.gpus) {
        add_choice(b, "Within the deadline: ", &a->deadline, "s");
        buf_add(b, ".\n");
    } else if (deadline) {
        buf_addf(b, "The deadline: %s.\n", a->deadline.why);
    }
    if (a->next)
        buf_addf(b, "Worth measuring next: %d GPU%s (%s).\n", a->next, plural(a->next),
                 a->next_why);
    else
        buf_addf(b, "Worth measuring next: no other number of GPUs; %s.\n", a->next_why);
}

static void add_convergence(struct buf *b, const struct analysis_series *as)
{
    const struct convergence *c = &as->convergence;
    size_t best = (size_t)(as->decision.best - as->series.points);

    if (c->metric == CONVERGENCE_NONE || best == 0 || best >= c->npoints ||
        isnan(c->points[best].speedup))
        return;
    buf_addf(b,
             "Time to %s %.4g: %.2fx faster than with %d GPU%s: epochs pass %.2fx as fast, and it "
             "takes %.2fx as many.\n",
             c->metric == CONVERGENCE_SCORE ? as->series.quality : "a loss of", c->target,
             c->points[best].speedup, as->decision.base->gpus, plural(as->decision.base->gpus),
             c->points[best].epoch_s_ratio, c->points[best].epochs_ratio);
}

/* What the critical batch means for the number of GPUs: the one that is advised, or the largest
 * where that is the base case. */
static void add_batches(struct buf *b, const struct analysis_series *as)
{
    const struct series_point *base = as->decision.base, *p = as->decision.best;

    if (p == base)
        p = &as->series.points[as->series.npoints - 1];
    long from = base->rows[0].global_batch, to = p->rows[0].global_batch;
    double images = noise_scale_images(&as->noise, from, to);
    if (isnan(images))
        return;
    if (from == to)
        buf_addf(b, " All numbers of GPUs train with batches of %ld, so none of them learns less "
                    "per image.", to);
    else
        buf_addf(b, " With %d GPUs (batches of %ld) the same progress takes about %.2fx the "
                    "images that it takes with %d (batches of %ld).", p->gpus, to, images,
                 base->gpus, from);
}

static void add_noise(struct buf *b, const struct analysis_series *as)
{
    const struct noise_scale *n = &as->noise;

    if (!n->measured)
        return;
    int decimals = n->critical_batch < 10 ? 2 : 0;
    buf_addf(b, "Critical batch: about %.*f images", decimals, n->critical_batch);
    add_interval(b, &n->interval, decimals);
    if (n->over_epochs && interval_is_known(&n->interval))
        buf_add(b, " over the epochs of the runs");
    if (isfinite(n->gpus))
        buf_addf(b, ", that is %.*f GPUs' batch", n->gpus < 10 ? 2 : 0, n->gpus);
    buf_add(b, "; far above it a step hardly learns more.");
    add_batches(b, as);
    buf_add(b, "\n");
}

static void add_caveats(struct buf *b, const struct decision *d)
{
    for (size_t i = 0; i < d->ncaveats; i++)
        buf_addf(b, "%s\n", d->caveats[i].text);
}

/* A series with one count: there is nothing to decide. */
static void add_alone(struct buf *b, const struct analysis_series *as, const char *label)
{
    const struct series_point *p = as->series.points;

    buf_addf(b, "%s ran on %d GPU%s only: there is nothing to compare it with.",
             label ? label : as->series.engine, p->gpus, plural(p->gpus));
}

int words_compute(struct words *w, const struct analysis_series *as, const char *label,
                  bool deadline, struct err *e)
{
    struct buf headline = {0}, reasons = {0}, caveats = {0};

    if (as->series.npoints < 2) {
        add_alone(&headline, as, label);
    } else {
        add_use(&headline, as, label);
        add_beyond(&headline, as);
        add_limit(&reasons, &as->decision);
        add_gaps(&reasons, as);
        add_overhead(&reasons, as);
        add_law(&reasons, as);
        add_convergence(&reasons, as);
        add_noise(&reasons, as);
        add_advice(&reasons, as, deadline);
        add_caveats(&caveats, &as->decision);
    }
    *w = (struct words){buf_steal(&headline), buf_steal(&reasons), buf_steal(&caveats)};
    if (w->headline && w->reasons && w->caveats)
        return 0;
    words_destroy(w);
    return err_set(e, ERR_INTERNAL, "out of memory for the verdict");
}

void words_destroy(struct words *w)
{
    free(w->headline);
    free(w->reasons);
    free(w->caveats);
    *w = (struct words){0};
}

void words_compare(struct buf *b, const struct analysis_difference *d, const char *label_a,
                   const char *label_b, const char *quality)
{
    const struct comparison *c = &d->compare;

    buf_addf(b, "With %d GPU%s, %s: ", d->gpus, plural(d->gpus),
             d->quantity == QUANTITY_IOU ? quality : quantity_name(d->quantity));
    if (d->quantity == QUANTITY_IOU) {
        buf_addf(b, "%s %.3f, %s %.3f", label_b, c->b, label_a, c->a);
    } else if (d->ratio.value >= 1) {
        buf_addf(b, "%s is %.2fx faster than %s", label_b, d->ratio.value, label_a);
        add_interval(b, &d->ratio.interval, 2);
    } else {
        struct interval turned = d->ratio.interval;
        turned.low = 1 / d->ratio.interval.high;
        turned.high = 1 / d->ratio.interval.low;
        buf_addf(b, "%s is %.2fx faster than %s", label_a, 1 / d->ratio.value, label_b);
        add_interval(b, &turned, 2);
    }
    if (c->test == COMPARE_NONE)
        buf_add(b, "; too few runs for a test");
    else
        buf_addf(b, "; %s (p = %.2g)", c->significant ? "significant" : "not significant",
                 c->p_holm);
    buf_add(b, ".");
}
