/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report_internal.h"

#include <math.h>

#include "launcher/collect/results/results.h"

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
    bool named = is_shared(s, offsetof(struct result, device));
    if (s->fake_gpus)
        buf_addf(b, ", which were groups of %s%s", named ? "cores of " : "CPU cores",
                 named ? s->rows[0].device : "");
    else if (named)
        buf_addf(b, " (%s)", s->rows[0].device);
    if (least == most)
        buf_addf(b, ", %zu run%s per count", most, plural((long)most));
    else
        buf_addf(b, ", %zu to %zu runs per count", least, most);
    for (size_t i = 0; i < s->npoints; i++)
        nlimited += s->points[i].nlimited;
    if (nlimited)
        buf_addf(b, ", %zu of which give the steady speed alone", nlimited);
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

static void add_times(struct buf *b, const struct series *s, const struct series_point *p)
{
    const struct series_point *base = s->points;
    const struct ratio *speedup = series_speedup(s, p);
    char speed[64], bounds[SERIES_BOUNDS];
    double epoch = p->q[QUANTITY_STEADY_EPOCH].median;

    series_describe_speed(s, base, speed, sizeof speed);
    if (s->stepped && isfinite(base->q[QUANTITY_RATE].median))
        buf_addf(b, "With %d GPU%s it runs at %s (median over runs", base->gpus,
                 plural(base->gpus), speed);
    else
        buf_addf(b, "With %d GPU%s an %s takes %.4g s (median over runs", base->gpus,
                 plural(base->gpus), series_interval(s), base->q[QUANTITY_STEADY_EPOCH].median);
    if (!series_is_rates(s))
        buf_addf(b, " of the %s over all %ss after warming up", s->means.gpus ? "mean" : "median",
                 series_interval(s));
    buf_add(b, ").\n");
    if (isfinite(speedup->value)) {
        buf_addf(b, "With %d GPUs ", p->gpus);
        if (s->mode == SERIES_WEAK)
            buf_addf(b, "the %s per second are %.2f times as many (", s->unit, speedup->value);
        else
            buf_addf(b, "it is %.2f times as fast (", speedup->value);
        series_describe_bounds(s, speedup, 2, bounds);
        buf_addf(b, "%s), an efficiency of %.2f; ideal scaling, the bound, would be %.4g times.\n",
                 *bounds ? bounds : "single runs, without an interval",
                 series_efficiency(s, p)->value, series_ideal(s, p->gpus));
    }
    if (s->mode != SERIES_WEAK && isfinite(p->speedup[QUANTITY_TRAINING].value))
        buf_addf(b, "%s included, is %.2f times as fast.\n",
                 s->stepped ? "All steps together, warming up" : "The whole training, first epoch",
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
    buf_addf(b, "%s%s%s%s is %.*f with %d GPUs and %.*f with %d (means over %sruns%s).\n", word,
             !s->is_share  ? ""
             : by_trainer ? " on the validation images"
                          : " on the validation data",
             iou && by_trainer ? " at " : "", iou && by_trainer ? series_size(s) : "", s->decimals,
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
                 "%s the margin of %.3g", s->decimals, table_round(c->difference, s->decimals),
                 s->decimals, table_round(c->interval.low, s->decimals), s->decimals,
                 table_round(c->interval.high, s->decimals), c->nfamily,
                 plural((long)c->nfamily),
                 q->state == QUALITY_HOLDS   ? "shows that it holds by"
                 : q->state == QUALITY_FALLS ? s->lower ? "shows that it rises by more than"
                                                        : "shows that it falls by more than"
                 : q->state == QUALITY_COLLAPSES || q->collapse_open
                     ? "is of the other runs, which does not show that it holds by"
                     : "does not decide whether it holds by",
                 d->rule.margin);
        buf_addf(b, "; %zu of %zu run%s %s", q->ncollapsed, q->nruns,
                 plural((long)q->nruns), series_collapsed(s));
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

static void add_predicted(struct table *t, const char *head, const struct bounds *v, double unit,
                          int decimals)
{
    table_number(t, head, v->expected * unit, decimals);
    table_range(t, "low..high", v->low * unit, v->high * unit, decimals, "");
}

static void add_prediction_table(struct doc *d, const struct prediction *p,
                                 const char *label)
{
    struct table t;
    char largest[24] = "";

    if (p->largest > p->base)
        snprintf(largest, sizeof largest, " to %d", p->largest);
    table_init(&t, "%s, not measured: %s, from its runs on %d%s GPU%s%s.",
               p->scenarios ? "Scenarios" : "Predicted", label, p->base, largest,
               plural(p->largest), p->fake_gpus ? ", which were groups of CPU cores" : "");
    for (size_t i = 0; i < p->npoints; i++) {
        const struct prediction_point *at = &p->points[i];
        table_word(&t, "GPUs", "%d%s", at->gpus, at->extrapolated ? "*" : "");
        if (p->linked) {
            table_number(&t, "nodes", at->nodes, 0);
            add_predicted(&t, "step ms", &at->step_s, 1e3, 1);
            table_range(&t, "sums ms", 1e3 * at->comm_s.low, 1e3 * at->comm_s.high, 3, "");
        }
        add_predicted(&t, p->interval[0] == 'e' ? "epoch s" : "interval s", &at->epoch_s, 1, 2);
        table_number(&t, "measured", at->measured_epoch_s, 2);
        add_predicted(&t, "speed-up", &at->speedup, 1, 2);
        add_predicted(&t, "efficiency", &at->efficiency, 1, 3);
    }
    doc_table(d, TO_TEXT, &t);
}

static void add_link(struct buf *b, const struct prediction_link *l)
{
    buf_addf(b, "%s (%s: %.4g GB/s, %.3g us)", l->name, l->what, l->bytes_per_s / 1e9,
             1e6 * l->latency_s);
}

void prediction_explain(const struct model *m, double gpus, struct buf *b)
{
    buf_addf(b, "Predictions are those of the model of time, with intervals of %.0f %%",
             100 * MODEL_LEVEL);
    model_assume(m, gpus, b);
    if (m->ncounts > 2)
        buf_addf(b, ". A number that is left out is predicted within %.1f %%, the largest within "
                 "%.1f %%; the data do not tell apart why time is lost. ", 100 * m->loo_error,
                 100 * m->largest_error);
    else
        buf_add(b, ". Two numbers of GPUs cannot check the model: measure a third. ");
}

static void add_links(const struct prediction *p, struct buf *b)
{
    const struct prediction_network *n = p->network;

    buf_addf(b, "It assumes: a step of %.1f ms for %.0f %s on %d GPU%s, as measured; %.2f MB "
             "of gradients, summed once a step; %d GPU%s on a node, connected by ",
             1e3 * p->step_s, p->batch, p->unit, p->base, plural(p->base), p->bytes / 1e6,
             p->gpus_per_node, plural(p->gpus_per_node));
    add_link(b, &n->within);
    buf_add(b, " within it");
    if (n->between.bytes_per_s > 0) {
        buf_add(b, " and by ");
        add_link(b, &n->between);
        buf_add(b, " between nodes");
    }
    buf_add(b, ". ");
    if (n->sums)
        buf_addf(b, "%d sums of batch norm a step, of few bytes and never hidden. ", n->sums);
    else
        buf_add(b, "No sums of synchronised batch norm beside the measured ones (--norm-sums). ");
    buf_add(b, "Three cases of the links: the whole bandwidth, a tree, all but the last slice hidden "
            "behind backward; 80 % of the bandwidth, nothing hidden; half of it, a ring for "
            "each MiB. ");
}

static void add_assumptions(const struct prediction *p, struct buf *b)
{
    bool extrapolated = false;
    int most = 0;

    for (size_t i = 0; i < p->npoints; i++) {
        most = p->points[i].gpus > most ? p->points[i].gpus : most;
        extrapolated |= p->points[i].extrapolated;
    }
    if (p->linked)
        add_links(p, b);
    else
        buf_add(b, "What more GPUs lose is learnt from the measured times alone, as links or "
                "gradients are unknown (--links, --parameters, --batch-per-gpu). ");
    if (p->base > 1)
        buf_addf(b, "Speed-up and efficiency are relative to %d GPUs. ", p->base);
    if (p->scenarios)
        buf_add(b, "One number of GPUs was measured, so nothing is known of what more GPUs lose. "
                "Low, middle and high are scenarios: these cases, with a serial part of 0, 2 "
                "and 5 % of the epoch, and GPUs that wait for the slowest, whose steps vary by "
                "0, 1 and 3 %. Measure two more numbers for a prediction. ");
    else
        prediction_explain(&p->model, most, b);
    buf_add(b, "The quality of the network that is trained is not predicted.");
    if (extrapolated)
        buf_addf(b, " * More than twice the largest number that was measured (%d): an "
                 "extrapolation that only a measurement can confirm.", p->largest);
}

void report_add_prediction(struct doc *d, const struct prediction *p, const char *label)
{
    struct buf assumptions = {0};

    add_prediction_table(d, p, label);
    add_assumptions(p, &assumptions);
    doc_paragraph(d, TO_TEXT, &assumptions);
}
