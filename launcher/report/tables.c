/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report_internal.h"

#include <math.h>

#include "launcher/collect/results/results.h"

#define MAX_RUNS 1000 /* a longer list of runs is cut; results.csv has all */

/* An interval over the epochs of single runs is called so, since it does not cover runs. */
static void add_interval_cell(struct table *t, const char *head, const struct interval *i,
                              int decimals, const struct series *s)
{
    if (interval_is_known(i))
        table_range(t, head, i->low, i->high, decimals,
                    i->method != INTERVAL_EPOCHS ? ""
                       : s->stepped                 ? " (intervals)"
                                                    : " (epochs)");
    else
        table_word(t, head, "-");
}

/* Adds the interval, or the range of the runs if they are too few for one. */
static void add_interval_or_range(struct table *t, const char *head, const struct interval *i,
                                  double least, double most, int decimals,
                                  const struct series *s)
{
    if (!interval_is_known(i) && least <= most)
        table_range(t, head, least, most, decimals, " (range)");
    else
        add_interval_cell(t, head, i, decimals, s);
}

static void add_ratio_interval(struct table *t, const char *head, const struct ratio *r,
                               int decimals, const struct series *s)
{
    add_interval_or_range(t, head, &r->interval, r->least, r->most, decimals, s);
}

static void add_summary_interval(struct table *t, const char *head, const struct summary *v,
                                 int decimals, const struct series *s)
{
    add_interval_or_range(t, head, &v->interval, v->count > 1 ? v->min : NAN, v->max, decimals, s);
}

/* Adds a number whose head has a word of the series, such as "images/s". */
static void add_worded(struct table *t, const char *fmt, const char *word, double value,
                       int decimals)
{
    char head[48];

    snprintf(head, sizeof head, fmt, word);
    table_number(t, head, value, decimals);
}

static void add_rate(struct table *t, const struct series *s, const struct series_point *p)
{
    char head[48];
    double rate = series_rate(s, p->q[QUANTITY_RATE].median, head, sizeof head);

    table_number(t, head, rate, series_rate(s, s->points[0].q[QUANTITY_RATE].median, head,
                                            sizeof head) < 10 ? 3 : 1);
}

static void add_test(struct table *t, const struct comparison *c)
{
    if (!(c->p < 0.001))
        table_number(t, "p", c->p, 3);
    else
        table_word(t, "p", "< 0.001");
    table_text(t, "test", "%s", c->test == COMPARE_NONE ? "" : compare_test_names[c->test]);
}

/* Returns how the intervals of speed-ups are made, or NULL if there are none. */
static const char *method_of(const struct series *s)
{
    const char *method = NULL;

    for (size_t i = s->npoints; i-- > 0;) {
        const struct interval *known = &series_speedup(s, &s->points[i])->interval;
        method = interval_is_known(known) ? interval_method_names[known->method] : method;
    }
    return method;
}

static void fill_speed(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    const char *method = method_of(s);
    struct buf mode = {0};
    char one_epoch[120], work[48];

    series_describe_work(s, work, sizeof work);
    snprintf(one_epoch, sizeof one_epoch, "One epoch: the one of index %ld. ", s->one_epoch);
    if (s->stepped)
        snprintf(one_epoch, sizeof one_epoch, *work ? "Interval: the time of %s. " : "%s", work);
    series_describe_mode(s, &mode);
    table_init(t,
               "Speed of %s relative to %d GPU%s: medians over the runs of a count. Scaling: %s. "
               "%sRange: of the runs, which are too few for an interval.%s%s%s%s",
               rs->label, s->points[0].gpus, plural(s->points[0].gpus), mode.data ? mode.data : "",
               one_epoch, s->limited ? " Limited: runs that ended at their limit, or logged nothing "
                                       "but rates, and give the steady speed alone; the others "
                                       "give all." : "",
               method ? " Interval of the speed-up: " : "", method ? method : "",
               method ? "." : "");
    t->failed |= mode.failed;
    buf_destroy(&mode);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        const struct ratio *steady = &p->speedup[QUANTITY_STEADY_EPOCH];
        const struct summary *time = &p->q[QUANTITY_STEADY_EPOCH];
        int decimals = s->stepped ? 4 : 2;
        bool rates = series_is_rates(s); /* no interval was measured */
        table_number(t, "GPUs", p->gpus, 0);
        table_number(t, "nodes", p->nodes ? p->nodes : NAN, 0);
        table_number(t, "runs", (double)p->nruns, 0);
        if (s->limited)
            table_number(t, "limited", (double)p->nlimited, 0);
        table_number(t, "first epoch s", p->q[QUANTITY_FIRST_EPOCH].median, 2);
        add_worded(t, "steady %s s", series_interval(s), rates ? NAN : time->median, decimals);
        if (!rates)
            add_summary_interval(t, "95 % interval", time, decimals, s);
        table_number(t, s->stepped ? "all steps s" : "training s", p->q[QUANTITY_TRAINING].median,
                     1);
        table_number(t, "speed-up total", p->speedup[QUANTITY_TRAINING].value, 2);
        table_number(t, "speed-up steady", steady->value, 2);
        add_ratio_interval(t, "95 % interval", steady, 2, s);
        table_number(t, "speed-up one epoch", p->speedup[QUANTITY_ONE_EPOCH].value, 2);
        table_number(t, "efficiency total", p->efficiency[QUANTITY_TRAINING].value, 3);
        table_number(t, "efficiency steady", p->efficiency[QUANTITY_STEADY_EPOCH].value, 3);
        add_worded(t, "efficiency by %s", s->unit, p->unit_efficiency.value, 3);
        add_rate(t, s, p);
        table_number(t, "GPU-hours", p->gpu_hours, p->gpu_hours < 0.1 ? 4 : 2);
        table_number(t, "kWh", p->q[QUANTITY_ENERGY].median, 3);
    }
}

/* Returns the head of the column with times of whole runs. */
static const char *whole_run(const struct series *s)
{
    return s->logged ? "whole run s, as logged" : "whole run s";
}

void tables_fill_scaling(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    const char *method = method_of(s);

    table_init(t, "Scaling of %s relative to %d GPU%s: medians over the runs. Efficiency: speed-up "
               "over the ideal one. Range: of the runs, which are too few for an interval. "
               "Interval of the speed-up: %s.", rs->label, s->points[0].gpus,
               plural(s->points[0].gpus), method ? method : "unknown");
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        const struct ratio *efficiency = series_efficiency(s, p);
        table_number(t, "GPUs", p->gpus, 0);
        table_number(t, "nodes", p->nodes ? p->nodes : NAN, 0);
        table_number(t, "runs", (double)p->nruns, 0);
        table_number(t, whole_run(s), p->q[QUANTITY_WHOLE].median, 1);
        add_worded(t, "steady %s s", series_interval(s), p->q[QUANTITY_STEADY_EPOCH].median, 3);
        add_rate(t, s, p);
        table_number(t, "speed-up", series_speedup(s, p)->value, 2);
        add_ratio_interval(t, "its interval", series_speedup(s, p), 2, s);
        table_number(t, "efficiency", efficiency->value, 3);
        add_ratio_interval(t, "interval of it", efficiency, 3, s);
        table_percent(t, "GPUs in use", p->q[QUANTITY_GPU_BUSY].median);
        table_number(t, "stage-in s", p->q[QUANTITY_STAGE].median, 1);
    }
}

void tables_fill_quality(struct table *t, const struct report_series *rs)
{
    const struct comparison none = {.p = NAN, .difference = NAN, .interval = interval_none()};
    const struct series *s = &rs->as->series;
    const struct decision *d = &rs->as->decision;
    bool by_trainer = strcmp(s->engine, "embedded") == 0 && s->is_share;
    const char *collapsed = s->is_share ? "collapsed" : "far worse";

    table_init(t,
               "Quality of %s after the last %s%s%s: %s%s is the mean over the %sruns of a count. "
               "%s: runs more than %.3g %s the median of the base case, or without a value, "
               "with the 95 %% upper limit of their share. Change: difference of the others from "
               "the base case, "
               "with a 95 %% interval that is simultaneous over all counts, and so is p. The "
               "quality holds where that interval lies %s%.3g.%s",
               rs->label, series_interval(s), by_trainer ? ", at " : "",
               by_trainer ? series_size(s) : "",
               s->quality, s->lower ? ", of which less is better," : "",
               s->limited ? "whole " : "", s->is_share ? "Collapsed" : "Far worse",
               quality_far(s, d->rule.margin),
               s->lower ? "above" : "below", s->lower ? "below " : "above -",
               d->rule.margin,
               by_trainer ? " IoU at own size is that of the masks that predict writes, at each "
                            "image's own size." : "");
    for (size_t i = 0; i < s->npoints && s->has_quality; i++) {
        const struct series_point *p = &s->points[i];
        const struct quality *judged = d->quality ? &d->quality[i] : NULL;
        const struct comparison *c = i && judged ? &judged->change : &none;
        const struct summary *quality = &p->q[QUANTITY_QUALITY];
        bool several = quality->count > 1;
        table_number(t, "GPUs", p->gpus, 0);
        table_number(t, "runs", (double)p->nruns - p->nlimited, 0);
        table_number(t, s->quality, quality->mean, s->decimals);
        table_number(t, "median", several ? quality->median : NAN, s->decimals);
        table_number(t, "least", several ? quality->min : NAN, s->decimals);
        table_number(t, "most", several ? quality->max : NAN, s->decimals);
        if (judged && judged->nruns)
            table_word(t, collapsed, "%zu of %zu (< %.0f %%)", judged->ncollapsed, judged->nruns,
                       ceil(100 * judged->collapse_most - 1e-9));
        else
            table_word(t, collapsed, "-");
        table_number(t, "change", c->difference, s->decimals);
        add_interval_cell(t, "its interval", &c->interval, s->decimals, s);
        add_test(t, c);
        table_text(t, "judgement", "%s", i == 0   ? "base case"
                                             : !judged ? "-"
                                             : judged->state == QUALITY_FALLS
                                                 ? quality_fall_word(s)
                                                 : quality_state_name(judged, s));
        table_number(t, "Dice",
                     result_by_accuracy(s->rows) ? NAN : p->q[QUANTITY_DICE].median, 4);
        table_number(t, "IoU at own size", p->q[QUANTITY_IOU_OWN_SIZE].mean, 4);
        table_number(t, "final loss", p->q[QUANTITY_LOSS].median, 4);
        add_worded(t, "%s per epoch", s->unit, s->stepped ? NAN : p->q[QUANTITY_UNITS].median, 0);
        table_number(t, "evaluation s", p->q[QUANTITY_EVALUATION].median, 3);
    }
}

/* Returns the IoU of one class of a run, or its mean over all but one (without ""), or NaN. */
static double class_iou(const struct result *run, const char *only, const char *without)
{
    const struct scores *s = run->scores;
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; s && i < s->nclasses; i++) {
        const char *name = s->classes[i].name;
        if (only ? strcmp(name, only) != 0 : strcmp(name, without) == 0)
            continue;
        sum += scores_class_iou(&s->classes[i]);
        n++;
    }
    return n ? sum / (double)n : NAN;
}

/* Adds a row of means over the runs of each count, with class_iou's arguments. */
static void add_class_row(struct table *t, const struct series *s, const char *only,
                          const char *without)
{
    if (only)
        table_text(t, "class", "%s", only);
    else
        table_text(t, "class", *without ? "mean without %s" : "mean of all%s", without);
    for (size_t i = 0; i < s->npoints && i < TABLE_COLUMNS - 1; i++) {
        const struct series_point *p = &s->points[i];
        char head[32];
        double sum = 0;

        for (size_t r = 0; r < p->nruns; r++)
            sum += class_iou(&p->rows[r], only, without);
        snprintf(head, sizeof head, "%d GPU%s", p->gpus, plural(p->gpus));
        table_number(t, head, sum / (double)p->nruns, 4);
    }
}

static void fill_classes(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    const struct scores *first = s->npoints ? s->points[0].rows[0].scores : NULL;

    table_init(t, "IoU of each class of %s at %s: (I + 1) / (U + 1) over the pixels "
               "of all validation images, mean over the runs of a count; then the mean over the "
               "classes with the first one, the background, and without it.", rs->label, series_size(s));
    if (!first || first->nclasses < 2 || result_by_accuracy(s->rows))
        return;
    for (size_t k = 0; k < first->nclasses; k++)
        add_class_row(t, s, first->classes[k].name, NULL);
    add_class_row(t, s, NULL, "");
    add_class_row(t, s, NULL, first->classes[0].name);
}

static void fill_parts(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;

    table_init(t, "Where the time of %s goes: copying data to the nodes, start of the process to "
               "its first step, %ss, evaluation; within a steady %s, communication that is not "
               "hidden behind computing and waiting for data, as measured on rank 0. Speed-up and "
               "efficiency are those of the whole run.", rs->label, series_interval(s),
               series_interval(s));
    for (size_t i = 0; i < s->npoints && !series_is_rates(s); i++) {
        const struct series_point *p = &s->points[i];
        double epoch = p->q[QUANTITY_STEADY_EPOCH].median;
        const char *share = s->stepped ? "of the interval" : "of the epoch";
        table_number(t, "GPUs", p->gpus, 0);
        table_number(t, "stage-in s", p->q[QUANTITY_STAGE].median, 2);
        table_number(t, "start-up s", p->q[QUANTITY_STARTUP].median, 2);
        table_number(t, "first epoch s", p->q[QUANTITY_FIRST_EPOCH].median, 2);
        add_worded(t, "steady %s s", series_interval(s), epoch, s->stepped ? 4 : 2);
        table_number(t, "communication s", p->q[QUANTITY_COMM].median, 3);
        table_percent(t, share, p->q[QUANTITY_COMM].median / epoch);
        table_number(t, "data wait s", p->q[QUANTITY_DATA].median, 3);
        table_percent(t, share, p->q[QUANTITY_DATA].median / epoch);
        table_number(t, "evaluation s", p->q[QUANTITY_EVALUATION].median, 2);
        table_number(t, whole_run(s), p->q[QUANTITY_WHOLE].median, 1);
        table_number(t, "speed-up", p->speedup[QUANTITY_WHOLE].value, 2);
        table_number(t, "efficiency", p->efficiency[QUANTITY_WHOLE].value, 3);
        table_text(t, "shared cores", "%s", p->oversubscribed ? "yes" : "-");
    }
}

/* Returns the decimals that show four digits of a value. */
static int decimals_of(double value)
{
    return value > 1e-9 && value < 1e4 ? 3 - (int)floor(log10(value)) : 0;
}

static void fill_energy(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;

    table_init(t, "Measured energy of %s, medians over the runs of a count: kWh of the GPUs in a "
               "whole run, joules for one of %s in a steady %s; mean power of a GPU, shares of the "
               "time with a kernel and with clocks reduced by power or heat, the most memory on "
               "one GPU; apart from that, kWh of the nodes' CPU packages.", rs->label, s->unit,
               series_interval(s));
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        const struct summary *kwh = &p->q[QUANTITY_ENERGY], *unit = &p->q[QUANTITY_UNIT_ENERGY];
        const struct summary *cpus = &p->q[QUANTITY_CPU_ENERGY];
        const struct summary *nodes = &p->q[QUANTITY_NODE_ENERGY];
        if (p->q[QUANTITY_GPU_POWER].count + cpus->count + nodes->count == 0)
            continue;
        int digits = decimals_of(kwh->median), unit_digits = decimals_of(unit->median);
        table_number(t, "GPUs", p->gpus, 0);
        table_word(t, "runs", "%zu", kwh->count    ? kwh->count
                                      : cpus->count ? cpus->count : nodes->count);
        table_number(t, "kWh", kwh->median, digits);
        add_summary_interval(t, "95 % interval", kwh, digits, s);
        add_worded(t, "J per 1 of %s", s->unit, unit->median, unit_digits);
        add_summary_interval(t, "95 % interval", unit, unit_digits, s);
        table_number(t, "W per GPU", p->q[QUANTITY_GPU_POWER].median, 0);
        table_percent(t, "busy", p->q[QUANTITY_GPU_BUSY].median);
        table_percent(t, "throttled", p->q[QUANTITY_GPU_THROTTLED].median);
        table_number(t, "memory MiB", p->q[QUANTITY_GPU_MEMORY].median, 0);
        table_number(t, "CPUs kWh", cpus->median, decimals_of(cpus->median));
        table_number(t, "whole nodes kWh, by Slurm", nodes->median, decimals_of(nodes->median));
    }
}

static void fill_each(struct table *t, const struct report_series *rs)
{
    static const char *const heads[QUANTITY_NTIMES] = {
        "start-up",  "first epoch", "one epoch",  "steady epoch", "communication",
        "data wait", "evaluation",  "training",   "whole run"};
    const struct series *s = &rs->as->series;

    table_init(t, "Speed-up of each part of %s, and in brackets its efficiency: its time with %d "
               "GPU%s over that with N, both medians over runs.", rs->label, s->points[0].gpus,
               plural(s->points[0].gpus));
    for (size_t i = 0; i < s->npoints && !series_is_rates(s); i++) {
        const struct series_point *p = &s->points[i];
        table_number(t, "GPUs", p->gpus, 0);
        for (int q = 0; q < QUANTITY_NTIMES; q++) {
            const char *head = s->stepped && q == QUANTITY_STEADY_EPOCH ? "interval" : heads[q];
            table_word(t, head, isfinite(p->speedup[q].value) ? "%.2f (%.2f)" : "-",
                       p->speedup[q].value, p->efficiency[q].value);
        }
    }
}

static void add_speedup_range(struct table *t, const struct convergence_point *p)
{
    const struct interval none = interval_none();

    table_number(t, "speed-up", p->speedup, 2);
    add_interval_or_range(t, "by runs and epochs", &none, p->speedup_least, p->speedup_most, 2, NULL);
}

static void fill_convergence(struct table *t, const struct report_series *rs)
{
    const struct convergence *c = &rs->as->convergence;
    const struct series *s = &rs->as->series;

    table_init(t,
               "Time to %s of %s: the time until %s of %.4g%s is reached%s.",
               s->is_share ? "accuracy" : "quality", rs->label,
               c->metric == CONVERGENCE_LOSS        ? "a loss"
               : !s->is_share                       ? s->quality
               : result_by_accuracy(s->rows) ? "an accuracy"
                                                    : "an IoU",
               c->target, c->chosen ? "" : WORDS_TARGET,
               s->stepped ? "" : ", as the epochs that are needed (more with larger batches) times "
                                 "the seconds of an epoch (fewer with more GPUs)");
    for (size_t i = 0; c->metric != CONVERGENCE_NONE && i < c->npoints; i++) {
        const struct convergence_point *p = &c->points[i];
        table_number(t, "GPUs", p->gpus, 0);
        table_number(t, "runs", (double)p->nruns, 0);
        table_number(t, "reached it", (double)p->nreached, 0);
        table_number(t, "epochs", p->epochs, 0);
        table_number(t, "s per epoch", p->epoch_s, 2);
        table_number(t, "seconds", p->seconds, 1);
        table_number(t, "kWh", p->energy_kwh, decimals_of(p->energy_kwh));
        table_number(t, "epochs needed, ratio", p->epochs_ratio, 2);
        table_number(t, "speed-up of an epoch", p->epoch_s_ratio, 2);
        add_speedup_range(t, p);
    }
}

static void fill_levels(struct table *t, const struct report_series *rs)
{
    const struct analysis_series *as = rs->as;

    table_init(t, "Time of %s until the %s of a validation first reaches a value, relative to the "
               "base case; beside it the speed-up of %s per second, which does not depend on what "
               "is learned.", rs->label, as->series.quality, as->series.unit);
    for (size_t i = 0; i < as->nlevels; i++)
        for (size_t k = 0; k < as->levels[i].npoints; k++) {
            const struct convergence_point *p = &as->levels[i].points[k];
            table_word(t, "reach", "%.2f", as->levels[i].target);
            table_number(t, "GPUs", p->gpus, 0);
            table_number(t, "runs", (double)p->nruns, 0);
            table_number(t, "reached it", (double)p->nreached, 0);
            table_number(t, "epochs", p->epochs, 0);
            table_number(t, "seconds", p->seconds, 1);
            add_speedup_range(t, p);
            add_worded(t, "of %s/s", as->series.unit, as->series.points[k].unit_speedup.value, 2);
        }
}

static void fill_settings(struct table *t, const struct report_series *rs)
{
    const char *text = rs->as->series.settings;
    struct setting_text s;

    table_init(t, "Settings of %s that can change time or quality; the others have their built-in "
               "values.", rs->label);
    while (text && settings_next(&text, &s)) {
        struct buf value = {0};
        settings_add_value(&value, &s);
        table_text(t, "setting", "%.*s", (int)s.nkey, s.key);
        table_text(t, "value", "%s", value.data ? value.data : "");
        t->failed |= value.failed;
        buf_destroy(&value);
    }
}

void tables_fill_short(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;

    bool rates = series_is_rates(s);

    table_init(t, "%s: speed-up %s%s%s%s, and %s efficiency%s%s%s", rs->label,
               rates ? "by " : s->stepped ? "of the whole run" : "of the whole training",
               rates ? s->unit : ", of steady ", rates ? "" : series_interval(s), rates ? "" : "s",
               rates ? "its" : "their", s->has_quality ? "; " : "",
               s->has_quality ? s->quality : "", s->has_quality ? ": mean over runs" : "");
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        table_number(t, "GPUs", p->gpus, 0);
        table_number(t, "runs", (double)p->nruns, 0);
        if (s->limited)
            table_number(t, "limited", (double)p->nlimited, 0);
        add_worded(t, "%s s", series_interval(s),
                   rates ? NAN : p->q[QUANTITY_STEADY_EPOCH].median, s->stepped ? 4 : 2);
        table_number(t, s->stepped ? "run s" : "train s", p->q[QUANTITY_TRAINING].median, 1);
        table_number(t, "speed-up", p->speedup[QUANTITY_TRAINING].value, 2);
        table_number(t, "steady", series_speedup(s, p)->value, 2);
        add_ratio_interval(t, "interval", series_speedup(s, p), 2, s);
        table_number(t, "efficiency", series_efficiency(s, p)->value, 3);
        if (s->has_quality)
            table_number(t, s->quality, p->q[QUANTITY_QUALITY].mean, s->decimals);
        else if (strcmp(s->unit, "images") != 0 || s->stepped)
            add_rate(t, s, p);
    }
}

static const char *judge_difference(const struct analysis_difference *d)
{
    const struct comparison *c = &d->compare;

    return d->why_not                  ? "not compared"
           : c->test == COMPARE_NONE   ? "too few runs"
           : c->significant            ? "yes"
           : c->enough                 ? "no"
                                       : "no (few runs)";
}

static void fill_pair(struct table *t, const struct report *r, const struct analysis_pair *pair)
{
    const struct interval none = interval_none();
    const struct series *s = &r->series[pair->a].as->series;

    table_init(t, "%s (first) compared with %s (second), at each count that both ran on: medians "
               "of times and their ratio, means of quality and their difference, with 95 %% "
               "intervals that hold simultaneously over all pairs and counts of a quantity. "
               "Different: the interval excludes equality; p is by the same method.",
               r->series[pair->a].label, r->series[pair->b].label);
    for (size_t i = 0; i < pair->ndifferences; i++) {
        const struct analysis_difference *d = &pair->differences[i];
        const struct comparison *c = &d->compare;
        bool time = d->quantity != QUANTITY_QUALITY;
        int decimals = time ? 4 : s->decimals;
        table_number(t, "GPUs", d->gpus, 0);
        table_text(t, "quantity", "%s", series_quantity_name(s, d->quantity));
        table_number(t, "first", c->a, decimals);
        table_number(t, "second", c->b, decimals);
        table_number(t, "second minus first", time ? NAN : c->difference, decimals);
        add_interval_cell(t, "95 % interval", time ? &none : &c->interval, decimals, s);
        table_number(t, "first / second", time ? d->ratio.value : NAN, 3);
        add_interval_cell(t, "95 % interval", time ? &d->ratio.interval : &none, 3, s);
        add_test(t, c);
        table_text(t, "different", "%s", judge_difference(d));
    }
}

typedef void fill_f(struct table *t, const struct report_series *s);

void tables_add(struct doc *d, const struct report *r)
{
    static const struct {
        fill_f *fill; /* NULL: bars */
        unsigned outputs; /* LaTeX has room for few columns, and a terminal for fewer tables */
    } all[] = {{tables_fill_short, TO_TEXT | TO_LATEX}, {NULL, TO_TEXT}, {fill_speed, TO_PAGES},
               {tables_fill_quality, TO_PAGES | TO_LATEX}, {fill_classes, TO_PAGES | TO_LATEX},
               {fill_parts, TO_PAGES | TO_LATEX}, {fill_energy, TO_PAGES}, {fill_each, TO_PAGES},
               {fill_convergence, TO_PAGES | TO_LATEX},
               {fill_levels, TO_PAGES | TO_LATEX}, {fill_settings, TO_PAGES | TO_TEXT}};
    struct table t;

    for (size_t i = 0; i < r->nseries; i++)
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            if (all[k].fill) {
                all[k].fill(&t, &r->series[i]);
                doc_table(d, all[k].outputs, &t);
            } else if (r->series[i].as->series.npoints > 1)
                figures_add_bars(d, &r->series[i].as->series);
    for (size_t i = 0; i < r->analysis.npairs; i++) {
        fill_pair(&t, r, &r->analysis.pairs[i]);
        doc_table(d, TO_PAGES | TO_LATEX, &t);
    }
}

static void fill_runs(struct table *t, const struct results *results)
{
    bool checked = false, named = false, stepped = false;

    for (size_t i = 0; i < results->count; i++) {
        const struct result *r = &results->rows[i];
        checked |= r->kernels.checked;
        named |= !result_quality_is_share(r) || *r->unit || r->stepped == 1;
        stepped |= r->stepped == 1;
    }
    if (results->count > MAX_RUNS)
        table_init(t, "The first %d of %zu runs and their states; results.csv has them all.",
                   MAX_RUNS, results->count);
    else
        table_init(t, named ? "Every run, its state, and its quality."
                            : "Every run, its state, and its IoU, or accuracy where images have "
                              "classes.");
    for (size_t i = 0; i < results->count && i < MAX_RUNS; i++) {
        const struct result *r = &results->rows[i];
        table_text(t, "run", "%s", r->run);
        table_text(t, "engine", "%s", r->engine);
        table_number(t, "GPUs", r->gpus, 0);
        table_word(t, "seed", "%ld", r->seed);
        table_word(t, "attempt", "%d", r->attempt);
        table_text(t, "state", "%s", result_state_names[r->state]);
        table_word(t, stepped ? "intervals" : "epochs", "%ld", r->epochs);
        table_text(t, "limited", "%s", r->limited == 1 ? "yes" : "-");
        table_number(t, stepped ? "all steps s" : "training s", r->training_time, 1);
        table_number(t, "quality", result_quality(r), 4);
        table_text(t, "hosts", "%s", *r->hosts ? r->hosts : r->host);
        table_text(t, "started", "%s", r->started);
        table_text(t, "device", "%s", r->device);
        if (checked && *r->kernels.refused)
            table_text(t, "kernels", "%d checked, replaced: %s", r->kernels.checked,
                       r->kernels.refused);
        else if (checked)
            table_word(t, "kernels", "%d checked", r->kernels.checked);
        table_text(t, "note", "%s", r->note);
    }
}

static bool is_like(const struct result *a, const struct result *b)
{
    return a->state == b->state && strcmp(a->device, b->device) == 0 &&
           strcmp(a->versions, b->versions) == 0;
}

static void fill_software(struct table *t, const struct results *results)
{
    const struct result *rows = results->rows;

    table_init(t, "What the runs computed on, and the versions of their software.");
    for (size_t i = 0; i < results->count; i++) {
        const struct result *r = &rows[i];
        size_t first = 0, n = 1;

        if (r->state != RESULT_DONE || !(*r->versions || *r->device))
            continue;
        while (!is_like(r, &rows[first])) /* there are few kinds */
            first++;
        if (first < i)
            continue;
        for (size_t k = i + 1; k < results->count; k++)
            n += is_like(r, &rows[k]);
        table_number(t, "runs", (double)n, 0);
        table_text(t, "device", "%s", r->device);
        table_text(t, "versions", "%s", r->versions);
    }
}

void tables_add_runs(struct doc *d, const struct results *results)
{
    struct table t;

    fill_runs(&t, results);
    doc_table(d, TO_PAGES, &t);
    fill_software(&t, results);
    doc_table(d, TO_PAGES, &t);
}
