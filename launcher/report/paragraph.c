/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/paragraph.h"

#include <math.h>
#include <string.h>

#include "launcher/collect/results/results.h"
#include "launcher/report/markup/table.h"
#include "src/plural.h"

/* Returns whether the text at this offset of a result is the same for all runs and not empty. */
static bool is_shared(const struct series *s, size_t offset)
{
    const char *first = (const char *)&s->rows[0] + offset;

    for (size_t i = 1; i < s->nrows; i++)
        if (strcmp(first, (const char *)&s->rows[i] + offset) != 0)
            return false;
    return *first;
}

static void add_counts(struct buf *b, const struct series *s)
{
    for (size_t i = 0; i < s->npoints; i++)
        buf_addf(b, "%s%d", i == 0 ? "" : i + 1 < s->npoints ? ", " : " and ", s->points[i].gpus);
    buf_addf(b, " GPU%s", plural(s->points[s->npoints - 1].gpus));
}

static void add_subject(struct buf *b, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    size_t least = s->points[0].nruns, most = least, nlimited = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        least = s->points[i].nruns < least ? s->points[i].nruns : least;
        most = s->points[i].nruns > most ? s->points[i].nruns : most;
    }
    buf_addf(b, "%s %s on ", rs->label, s->stepped ? "ran" : "was trained");
    add_counts(b, s);
    if (is_shared(s, offsetof(struct result, device)))
        buf_addf(b, s->rows[0].fake_gpus == 1 ? ", which were groups of cores of %s" : " (%s)",
                 s->rows[0].device);
    if (least == most)
        buf_addf(b, ", %zu run%s per count", most, plural((long)most));
    else
        buf_addf(b, ", %zu to %zu runs per count", least, most);
    for (size_t i = 0; i < s->npoints; i++)
        nlimited += s->points[i].nlimited;
    if (nlimited)
        buf_addf(b, ", %zu of which give the steady speed alone",
                 nlimited);
    buf_addf(b, " (unetctl %s).\n", PACKAGE_VERSION);
}

static void add_setup(struct buf *b, const struct series *s)
{
    const char *text = s->settings, *before = "Settings other than the built-in ones: ";
    struct setting_text setting;

    buf_add(b, "How the work scales: ");
    series_describe_mode(s, b);
    buf_add(b, ".\n");
    for (; text && settings_next(&text, &setting); before = ", ") {
        buf_addf(b, "%s%.*s ", before, (int)setting.nkey, setting.key);
        settings_add_value(b, &setting);
    }
    buf_add(b, *before == ',' ? ".\n" : "");
    if (is_shared(s, offsetof(struct result, versions)))
        buf_addf(b, "Software: %s.\n", s->rows[0].versions);
    else if (*s->rows[0].versions)
        buf_add(b, "Versions of software differ between runs: report.md lists them.\n");
}

/* Adds an interval, or the range of the runs, or that there is neither. */
static void add_bounds(struct buf *b, const struct series *s, const struct ratio *r)
{
    if (interval_is_known(&r->interval) && r->interval.method == INTERVAL_EPOCHS)
        buf_addf(b, "%.2f to %.2f over the %ss of single runs", r->interval.low, r->interval.high,
                 series_interval(s));
    else if (interval_is_known(&r->interval))
        buf_addf(b, "95 %% interval %.2f to %.2f", r->interval.low, r->interval.high);
    else if (!isnan(r->least))
        buf_addf(b, "%.2f to %.2f between single runs, too few for an interval", r->least, r->most);
    else
        buf_add(b, "single runs, without an interval");
}

static void add_times(struct buf *b, const struct series *s, const struct series_point *p)
{
    const struct series_point *base = s->points;
    const struct ratio *speedup = series_speedup(s, p);
    double epoch = p->q[QUANTITY_STEADY_EPOCH].median;

    buf_addf(b, "With %d GPU%s an %s takes %.4g s (median over runs of the median over all %ss "
             "after warming up)", base->gpus, plural(base->gpus), series_interval(s),
             base->q[QUANTITY_STEADY_EPOCH].median, series_interval(s));
    if (s->stepped && isfinite(base->q[QUANTITY_RATE].median))
        buf_addf(b, ", %.4g %s per second", base->q[QUANTITY_RATE].median, s->unit);
    buf_add(b, ".\n");
    if (isfinite(speedup->value)) {
        buf_addf(b, "With %d GPUs ", p->gpus);
        if (s->mode == SERIES_WEAK)
            buf_addf(b, "the %s per second are %.2f times as many (", s->unit, speedup->value);
        else
            buf_addf(b, "it is %.2f times as fast (", speedup->value);
        add_bounds(b, s, speedup);
        buf_addf(b, "), an efficiency of %.2f; ideal scaling, the bound, would be %.4g times.\n",
                 series_efficiency(s, p)->value, series_ideal(s, p->gpus));
    }
    if (s->mode != SERIES_WEAK && isfinite(p->speedup[QUANTITY_TRAINING].value))
        buf_addf(b, "The whole %s included, is %.2f times as fast.\n",
                 s->stepped ? "run, warming up" : "training, first epoch",
                 p->speedup[QUANTITY_TRAINING].value);
    if (isfinite(p->q[QUANTITY_COMM].median) && epoch > 0)
        buf_addf(b, "Communication that computing does not hide takes %.0f %% of an %s with %d "
                 "GPUs.\n", 100 * p->q[QUANTITY_COMM].median / epoch, series_interval(s), p->gpus);
}

static void add_quality_sentence(struct buf *b, const struct report_series *rs,
                                 const struct series_point *p)
{
    const struct series *s = &rs->as->series;
    const struct decision *d = &rs->as->decision;
    const struct quality *q = &d->quality[p - s->points];
    const struct comparison *c = &q->change;
    bool iou = strcmp(s->quality, "IoU") == 0, by_trainer = strcmp(s->engine, "embedded") == 0;
    const char *word = series_quality_title(s);

    if (!s->has_quality)
        buf_add(b, "No run has a quality: this is by speed alone.\n");
    if (!isfinite(p->q[QUANTITY_QUALITY].mean) || !isfinite(s->points->q[QUANTITY_QUALITY].mean))
        return;
    buf_addf(b, "%s%s%s is %.*f with %d GPUs and %.*f with %d (means over %sruns%s).\n", word,
             s->is_share ? " on the validation images" : "",
             iou && by_trainer ? " at the network's size" : "", s->decimals,
             p->q[QUANTITY_QUALITY].mean, p->gpus, s->decimals, s->points->q[QUANTITY_QUALITY].mean,
             s->points->gpus, s->limited ? "whole " : "", s->lower ? "; less is better" : "");
    if (q->state == QUALITY_UNKNOWN)
        buf_addf(b, "The change is not judged: %s is %s.\n", s->quality, q->why);
    else if (q->by_construction)
        buf_addf(b, "It holds by construction, which was not tested: the first losses of equal seeds "
                 "are equal to %.1f %%.\n", 100 * QUALITY_EQUAL);
    else if (!interval_is_known(&c->interval))
        buf_add(b, "The runs are too few to judge the change.\n");
    else {
        buf_addf(b, "Its change of %.*f (95 %% interval %.*f to %.*f, simultaneous over %zu count%s) "
                 "%s by the margin of %.3g", s->decimals, table_round(c->difference, s->decimals),
                 s->decimals, table_round(c->interval.low, s->decimals), s->decimals,
                 table_round(c->interval.high, s->decimals), c->nfamily,
                 plural((long)c->nfamily),
                 q->state == QUALITY_HOLDS   ? "shows that it holds"
                 : q->state == QUALITY_FALLS ? s->lower ? "shows that it rises"
                                                        : "shows that it falls"
                 : q->state == QUALITY_COLLAPSES
                     ? "is of the runs that did not collapse, which does not show that it holds"
                     : "does not decide whether it holds",
                 d->rule.margin);
        if (s->is_share)
            buf_addf(b, "; %zu of %zu runs collapsed", q->ncollapsed, q->nruns);
        buf_add(b, ".\n");
    }
}

void paragraph_describe(struct buf *b, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    const struct decision *d = &rs->as->decision;
    const struct series_point *p;

    add_subject(b, rs);
    add_setup(b, s);
    if (s->npoints < 2)
        return;
    p = d->best == d->base ? &s->points[s->npoints - 1] : d->best;
    add_times(b, s, p);
    add_quality_sentence(b, rs, p);
    if (d->unlearnt)
        buf_add(b, "No network has learnt its task, so the quality says nothing.\n");
    buf_add(b, "The results of all runs are in results.csv.\n");
}
