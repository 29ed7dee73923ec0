/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report_internal.h"

#include <math.h>

#include "launcher/collect/results/results.h"

#define MAX_CURVE 240  /* the most points of a loss curve; longer ones are thinned */
#define MAX_CURVES 200 /* about the most runs whose curves are drawn, of all counts of a series */
#define MAX_DOTS 400   /* the most single runs of a series that are drawn; of more, none is */
#define CURVE_STEPS 60 /* the most steps of a model's curve, about */
#define MODEL_STOPS 16   /* about the most values of a model's curve that are listed */
#define BEYOND 1.25    /* a model is drawn up to so many times the largest measured count */

static const struct series *series_of(const struct report *r, size_t i)
{
    return &r->series[i].as->series;
}

/* Adds a series of the chart for series i of the report, with its colour and mark. */
static struct chart_series *add_series(struct chart *c, const struct report *r, size_t i,
                                       enum chart_style style, const char *what)
{
    bool several = r->nseries > 1;
    struct chart_series *s = chart_add_series(c, style, (int)(i % CHART_COLOURS), "%s%s%s",
                                              several ? r->series[i].label : "",
                                              several ? ": " : "", what);

    s->mark = (int)(i % 4);
    return s;
}

static void set_axis(struct chart_axis *a, const char *label, int decimals)
{
    snprintf(a->label, sizeof a->label, "%s", label);
    a->decimals = decimals;
}

/* Starts a chart whose x axis is the number of GPUs. */
__attribute__((format(printf, 6, 7)))
static void start(struct chart *c, const char *name, const char *title, const char *y, int decimals,
                  const char *caption, ...)
{
    va_list ap;

    chart_init(c, name, title, "%s", "");
    va_start(ap, caption);
    vsnprintf(c->caption, sizeof c->caption, caption, ap);
    va_end(ap);
    c->counts = c->x.whole = true;
    set_axis(&c->x, "GPUs", 0);
    set_axis(&c->y, y, decimals);
}

/* Adds medians, with their intervals or, if there are none, the ranges of the runs. */
static void add_summaries(struct chart *c, struct chart_series *dst, const struct series *s,
                          enum quantity q)
{
    for (size_t i = 0; i < s->npoints; i++) {
        const struct summary *v = &s->points[i].q[q];
        bool range = !interval_is_known(&v->interval) && v->count > 1;
        chart_add_point(c, dst, s->points[i].gpus, v->median, range ? v->min : v->interval.low,
                        range ? v->max : v->interval.high);
    }
}

static void add_ratios(struct chart *c, struct chart_series *dst, const struct series *s,
                       const struct ratio *of(const struct series *, const struct series_point *))
{
    for (size_t i = 0; i < s->npoints; i++) {
        const struct ratio *r = of(s, &s->points[i]);
        bool known = interval_is_known(&r->interval);
        chart_add_point(c, dst, s->points[i].gpus, r->value, known ? r->interval.low : r->least,
                        known ? r->interval.high : r->most);
        if (dst->count)
            dst->points[dst->count - 1].range = !known;
    }
}

/* Returns the word for quality that all series with one share, "IoU or accuracy" or "quality";
 * NULL if none has one. shares becomes whether all are between 0 and 1. */
static const char *common_quality(const struct report *r, bool *shares)
{
    const char *word = NULL;
    bool same = true;

    *shares = true;
    for (size_t i = 0; i < r->nseries; i++) {
        const struct series *s = series_of(r, i);
        if (!s->has_quality)
            continue;
        same &= !word || strcmp(word, s->quality) == 0;
        *shares &= s->is_share;
        word = s->quality;
    }
    return same ? word : *shares ? "IoU or accuracy" : "quality";
}

/* Returns whether no series has epochs. */
static bool is_stepped(const struct report *r)
{
    bool stepped = true;

    for (size_t i = 0; i < r->nseries; i++)
        stepped &= series_of(r, i)->stepped;
    return stepped;
}

static const char *steady_of(const struct report *r)
{
    return is_stepped(r) ? "steady intervals" : "steady epochs";
}

static int largest_of(const struct series *s)
{
    return s->points[s->npoints - 1].gpus;
}

/* Adds the straight line y = height + slope x over all counts, which is not a measurement. */
static struct chart_series *add_guide(struct chart *c, const struct report *r, double height,
                                      double slope)
{
    struct chart_series *s = chart_add_series(c, CHART_LINE, CHART_INK, "ideal");
    double largest = 1;

    for (size_t i = 0; i < r->nseries; i++)
        largest = fmax(largest, largest_of(series_of(r, i)));
    chart_add_point(c, s, 0, height, NAN, NAN);
    chart_add_point(c, s, largest, height + slope * largest, NAN, NAN);
    return s;
}

/* Adds the ideal speed-up if the base cases of all series are the same count. */
static void add_ideal(struct chart *c, const struct report *r)
{
    int base = series_of(r, 0)->points[0].gpus;
    bool same = true;

    for (size_t i = 1; i < r->nseries; i++)
        same &= series_of(r, i)->points[0].gpus == base;
    if (same)
        add_guide(c, r, 0, 1.0 / base);
}

/* Adds what the model predicts for the numbers of GPUs `from` to `to`. About MODEL_STOPS of them,
 * beginning with from + first, are listed. */
static void add_model_line(struct chart *c, struct chart_series *s, const struct report_series *rs,
                           int from, int to, int first)
{
    int base = rs->as->series.points[0].gpus, stride = (to - from) / CURVE_STEPS + 1;
    int listed = ((to - from) / stride + MODEL_STOPS - 1) / MODEL_STOPS;

    bool band = s->style == CHART_BAND;

    s->wide = true;
    for (int n = from; n <= to; n += stride) {
        struct bounds b = model_speedup(&rs->as->steady, base, n);
        chart_add_point(c, s, n, band ? NAN : b.expected, band ? b.low : NAN, band ? b.high : NAN);
    }
    s->listed_first = (size_t)first;
    s->listed_step = listed ? (size_t)listed : 1;
}

static void add_fit(struct chart *c, const struct report *r, size_t i, double beyond)
{
    const struct report_series *rs = &r->series[i];
    int from = rs->as->series.points[0].gpus, to = largest_of(&rs->as->series);
    int end = (int)ceil(beyond * to);
    struct chart_series *s;

    if (!model_is_usable(&rs->as->steady))
        return;
    add_model_line(c, add_series(c, r, i, CHART_LINE, "fitted model"), rs, from, to, 0);
    add_model_line(c, add_series(c, r, i, CHART_BAND, "its interval of 90 %"), rs, to, end, 0);
    s = add_series(c, r, i, CHART_LINE, "fitted model, beyond what was measured");
    s->dashed = s->unlisted = true;
    add_model_line(c, s, rs, to, end, 1);
}

/* Adds speed-up or efficiency of whole trainings. There is none in series where the work grows. */
static void add_total(struct chart *c, const struct report *r, size_t i, bool efficiency)
{
    const struct series *s = series_of(r, i);
    struct chart_series *total;

    if (s->mode == SERIES_WEAK)
        return;
    total = add_series(c, r, i, CHART_MARKS, s->stepped ? "whole run" : "whole training");
    total->hollow = true;
    for (size_t k = 0; k < s->npoints; k++) {
        const struct series_point *p = &s->points[k];
        const struct ratio *of = efficiency ? p->efficiency : p->speedup;
        chart_add_point(c, total, p->gpus, of[QUANTITY_TRAINING].value, NAN, NAN);
    }
}

/* Adds the value of each single run, unless each count has only one run, or they are too many to
 * be distinguished. */
static void add_dots(struct chart *c, const struct report *r, size_t i,
                     double value(const struct series *s, const struct result *run))
{
    const struct series *s = series_of(r, i);
    struct chart_series *dots;

    if (s->nrows == s->npoints || s->nrows > MAX_DOTS)
        return;
    dots = add_series(c, r, i, CHART_MARKS, "single runs");
    dots->small = true;
    dots->mark = 0;
    for (size_t k = 0; k < s->nrows; k++)
        chart_add_point(c, dots, s->rows[k].gpus, value(s, &s->rows[k]), NAN, NAN);
}

static double quality_of_run(const struct series *s, const struct result *run)
{
    return result_quality(run);
}

static double epoch_of_run(const struct series *s, const struct result *run)
{
    return run->median_epoch_s;
}

static double speedup_of_run(const struct series *s, const struct result *run)
{
    double base = s->points[0].q[QUANTITY_STEADY_EPOCH].median;

    return s->mode == SERIES_WEAK ? NAN : base / run->median_epoch_s;
}

static void make_speedup_to(struct chart *c, const struct report *r, const char *name,
                            double beyond)
{
    start(c, name, "Speed-up against the ideal", "speed-up", 2,
          "Filled: speed-up of the %s (those after warming up). Bars: intervals of 95 %% where "
          "there are enough runs, otherwise the range of the runs. Wide line: the model of the "
          "times; dashed, in its interval of 90 %%: beyond what was measured, if no limit begins; "
          "without a model, marks are joined to guide the eye. Open: the whole %s included. Small "
          "dots: single runs.",
          steady_of(r),
          is_stepped(r) ? "run, warming up" : "training, first epoch");
    add_ideal(c, r);
    for (size_t i = 0; i < r->nseries; i++) {
        enum chart_style style = model_is_usable(&r->series[i].as->steady) ? CHART_MARKS
                                                                           : CHART_JOINED;
        add_fit(c, r, i, beyond);
        add_total(c, r, i, false);
        add_dots(c, r, i, speedup_of_run);
        add_ratios(c, add_series(c, r, i, style, steady_of(r)), series_of(r, i), series_speedup);
    }
}

static void make_speedup(struct chart *c, const struct report *r)
{
    make_speedup_to(c, r, "speedup", BEYOND);
}

static void make_iou(struct chart *c, const struct report *r)
{
    bool shares;
    const char *word = common_quality(r, &shares);

    start(c, shares ? "iou" : "quality_by_gpus", "", word ? word : "", series_of(r, 0)->decimals,
          "Median over the runs of a count. Bars: its interval of 95 %% where there are enough runs, "
          "otherwise the range. Small dots: single runs. Not joined, because each count has runs of "
          "its own.");
    snprintf(c->title, sizeof c->title, "Quality: %s after the last %s", word ? word : "none",
             is_stepped(r) ? "interval" : "epoch");
    for (size_t i = 0; i < r->nseries; i++) {
        add_dots(c, r, i, quality_of_run);
        add_summaries(c, add_series(c, r, i, CHART_MARKS, "median"), series_of(r, i),
                      QUANTITY_QUALITY);
    }
    c->floats = true;
}

static void make_efficiency(struct chart *c, const struct report *r)
{
    struct chart_series *threshold;

    start(c, "efficiency", "Parallel efficiency", "efficiency", 3,
          "Speed-up divided by the ideal. Filled: %s, by %s where they were counted. Open: whole "
          "%s.", steady_of(r), series_of(r, 0)->unit, is_stepped(r) ? "run" : "training");
    add_guide(c, r, 1, 0);
    threshold = add_guide(c, r, r->efficiency, 0);
    threshold->dashed = true;
    snprintf(threshold->label, sizeof threshold->label, "threshold of the rule, %.2f",
             r->efficiency);
    for (size_t i = 0; i < r->nseries; i++) {
        add_total(c, r, i, true);
        add_ratios(c, add_series(c, r, i, CHART_JOINED, steady_of(r)), series_of(r, i),
                   series_efficiency);
    }
}

static void make_epoch_time(struct chart *c, const struct report *r)
{
    bool stepped = is_stepped(r);
    char work[48] = "";

    if (stepped)
        series_describe_work(series_of(r, 0), work, sizeof work);
    start(c, "epoch_time", "", "seconds", 2,
          stepped ? "Steady intervals, after warming up. Bars: interval of 95 %%, or the range "
                    "of the runs. Small dots: single runs."
                  : "Filled: steady epochs, after warming up. Open: the first epoch. Bars: "
                    "interval of 95 %%, or the range of the runs. Small dots: single runs.");
    snprintf(c->title, sizeof c->title, "Time %s %s", *work ? "of" : "per",
             *work ? work : stepped ? "interval" : "epoch");
    for (size_t i = 0; i < r->nseries; i++) {
        const struct series *s = series_of(r, i);
        if (series_is_rates(s))
            continue;
        struct chart_series *first = add_series(c, r, i, CHART_MARKS, "first epoch");
        first->hollow = true;
        add_summaries(c, first, s, QUANTITY_FIRST_EPOCH);
        add_dots(c, r, i, epoch_of_run);
        add_summaries(c, add_series(c, r, i, CHART_JOINED,
                                    stepped ? "steady interval" : "steady epoch"), s,
                      QUANTITY_STEADY_EPOCH);
    }
}

static void make_cost(struct chart *c, const struct report *r)
{
    bool logged = false;

    for (size_t i = 0; i < r->nseries; i++)
        logged |= series_of(r, i)->logged;
    chart_init(c, "cost", "What the time costs",
               "GPU-hours of one run, %s, against its time; the number beside a mark is that of "
               "its GPUs. Left is faster, low is cheaper.",
               logged ? "as logged" : "start-up and evaluation included");
    set_axis(&c->x, "time of one run, hours", 4);
    set_axis(&c->y, "GPU-hours", 4);
    c->x.logarithmic = true;
    for (size_t i = 0; i < r->nseries; i++) {
        const struct series *s = series_of(r, i);
        struct chart_series *cost = add_series(c, r, i, CHART_MARKS, "one run");
        for (size_t k = 0; k < s->npoints; k++) {
            double hours = s->points[k].q[QUANTITY_WHOLE].median / 3600;
            if (!(hours > 0) || isnan(s->points[k].gpu_hours))
                continue;
            chart_add_point(c, cost, hours, s->points[k].gpu_hours, NAN, NAN);
            if (cost->count)
                cost->points[cost->count - 1].tag = s->points[k].gpus;
        }
    }
}

/* Makes the chart of both at once: speed-up of one epoch, and quality on a second axis. */
static void make_one_epoch(struct chart *c, const struct report *r)
{
    bool shares;
    const char *word = common_quality(r, &shares);

    word = shares && word ? word : "";
    start(c, "one_epoch", "", "speed-up of one epoch", 2, "Speed-up of a single epoch, the one of "
          "index %ld (filled), and quality (open, right axis), without intervals: for comparison "
          "with figures that were made so.", series_of(r, 0)->one_epoch);
    snprintf(c->title, sizeof c->title, "Speed-up of one epoch%s%s", *word ? ", and " : "", word);
    set_axis(&c->right, *word ? word : "IoU", 4);
    c->right.high = 1;
    c->right.step = 0.2;
    add_ideal(c, r);
    for (size_t i = 0; i < r->nseries; i++) {
        const struct series *s = series_of(r, i);
        struct chart_series *line = add_series(c, r, i, CHART_JOINED, s->quality);
        line->hollow = line->right = line->dashed = true;
        for (size_t k = 0; k < s->npoints && s->is_share; k++)
            chart_add_point(c, line, s->points[k].gpus,
                            s->points[k].q[QUANTITY_QUALITY].median, NAN, NAN);
        line = add_series(c, r, i, CHART_JOINED, "speed-up");
        for (size_t k = 0; k < s->npoints; k++)
            chart_add_point(c, line, s->points[k].gpus,
                            s->points[k].speedup[QUANTITY_ONE_EPOCH].value, NAN, NAN);
    }
}

/* Adds a column per count, stacked from its parts. An unknown part counts as 0. */
static void add_column_stack(struct chart *c, const struct series *s, size_t nparts,
                             const char *const *names, const int *colours,
                             double (*part)(const struct series_point *, size_t))
{
    for (size_t n = 0; n < nparts; n++) {
        struct chart_series *column = chart_add_series(c, CHART_COLUMN, colours[n], "%s", names[n]);
        for (size_t k = 0; k < s->npoints; k++) {
            double low = 0, high = fmax(0, part(&s->points[k], n));
            for (size_t m = 0; m < n; m++)
                low += fmax(0, part(&s->points[k], m));
            if (high > 0)
                chart_add_point(c, column, s->points[k].gpus, NAN, low, low + high);
        }
    }
}

static double median_of(const struct series_point *p, enum quantity q)
{
    return isfinite(p->q[q].median) ? p->q[q].median : 0;
}

static double epoch_part(const struct series_point *p, size_t part)
{
    double comm = median_of(p, QUANTITY_COMM), data = median_of(p, QUANTITY_DATA);

    return (const double[]){median_of(p, QUANTITY_STEADY_EPOCH) - comm - data, comm, data}[part];
}

static double run_part(const struct series_point *p, size_t part)
{
    double first = median_of(p, QUANTITY_FIRST_EPOCH);

    return (const double[]){median_of(p, QUANTITY_TRAINING) - first, first,
                            median_of(p, QUANTITY_STARTUP), median_of(p, QUANTITY_EVALUATION),
                            median_of(p, QUANTITY_STAGE)}[part];
}

/* Makes the chart of how the time of a steady epoch is spent; it is empty if that was not
 * recorded. */
static void make_epoch_parts(struct chart *c, const struct series *s)
{
    static const char *const names[] = {"computing and the rest", "communication not hidden",
                                        "waiting for data"};
    static const int colours[] = {0, 1, 5};
    bool known = false;

    start(c, "parts", s->stepped ? "Where a steady interval's time goes"
                                 : "Where a steady epoch's time goes", "seconds", 3,
          "Medians over the runs of a count, as rank 0 saw them.");
    for (size_t k = 0; k < s->npoints; k++)
        known |= isfinite(s->points[k].q[QUANTITY_COMM].median) ||
                isfinite(s->points[k].q[QUANTITY_DATA].median);
    add_column_stack(c, s, known ? 3 : 0, names, colours, epoch_part);
}

static void make_run_parts(struct chart *c, const struct series *s)
{
    const char *const names[] = {s->stepped ? "intervals" : "further epochs", "first epoch",
                                 "start-up", "evaluation", "stage-in"};
    static const int colours[] = {0, 5, 1, 2, 3};
    bool staged = false;

    start(c, "whole", "Where a whole run's time goes", "seconds", 1,
          "Medians over the runs of a count.");
    for (size_t k = 0; k < s->npoints; k++)
        staged |= s->points[k].q[QUANTITY_STAGE].count > 0;
    add_column_stack(c, s, staged ? 5 : 4, names, colours, run_part);
}

/* Adds a line of the values of a run's epochs, without those that are unknown. */
static void add_curve(struct chart *c, const struct result *run, int colour, const double *values,
                      bool validation)
{
    size_t n = values ? run->curve->n : 0, step = (n + MAX_CURVE - 1) / MAX_CURVE;
    bool named = false;

    for (size_t i = 0; i < c->nseries; i++)
        named |= c->series[i].colour == colour && c->series[i].count;
    struct chart_series *s =
        chart_add_series(c, CHART_LINE, colour, "%d GPU%s", run->gpus, plural(run->gpus));
    s->thin = true;
    s->dashed = validation;
    s->unlisted = named;
    for (size_t i = 0; i < n; i += validation ? 1 : step)
        if (isfinite(values[i]) && (!validation || s->count == 0 ||
                                    (double)i >= s->points[s->count - 1].x + (double)step))
            chart_add_point(c, s, (double)i, values[i], NAN, NAN);
}

/* Runs whose curves are drawn, sorted by number of GPUs. */
struct curves {
    const struct result *rows;
    size_t n;
    bool stepped;
    const char *title, *quality; /* of the quality: in a title, and on the axis */
    int decimals;
};

/* Returns the end of the rows with as many GPUs as the one at `from`. */
static size_t end_of_count(const struct curves *s, size_t from)
{
    size_t end = from;

    while (end < s->n && s->rows[end].gpus == s->rows[from].gpus)
        end++;
    return end;
}

/* Adds the curves of all runs of at most CHART_SHADES counts, evenly chosen, including the
 * smallest and the largest: losses, or qualities. */
static void add_curves(struct chart *c, const struct curves *s, bool quality)
{
    size_t n = 0, at = 0, k = 0;

    for (size_t i = 0; i < s->n; i = end_of_count(s, i))
        n++;
    size_t shown = n < CHART_SHADES ? n : CHART_SHADES, gaps = shown > 1 ? shown - 1 : 1;
    set_axis(&c->x, s->stepped ? "interval" : "epoch", 0);
    c->x.whole = true;
    for (size_t i = 0, end; i < s->n; i = end, at++) {
        int colour = CHART_SHADE + (int)(k * (CHART_SHADES - 1) / gaps);
        end = end_of_count(s, i);
        if (at != k * (n - 1) / gaps)
            continue;
        k++;
        for (size_t m = i; m < end && m - i < MAX_CURVES / shown; m++) {
            const struct curve *curve = s->rows[m].curve;
            if (!curve || s->rows[m].limited == 1)
                continue;
            add_curve(c, &s->rows[m], colour, quality ? curve->train_score : curve->loss, false);
            add_curve(c, &s->rows[m], colour, quality ? curve->score : curve->val_loss, true);
        }
    }
}

static void make_curves(struct chart *c, const struct curves *s, bool quality)
{
    const char *interval = s->stepped ? "interval" : "epoch";

    chart_init(c, quality ? "quality" : "loss", "",
               "%s%s, one line per run, of at most 8 counts. Solid: training; dashed: validation. "
               "From violet, the fewest GPUs, to yellow, the most.",
               quality ? "Quality after an " : "Loss",
               quality ? interval : "");
    snprintf(c->title, sizeof c->title, "%s by %s", quality ? s->title : "Loss", interval);
    set_axis(&c->y, quality ? s->quality : "loss", quality ? s->decimals : 4);
    add_curves(c, s, quality);
}

/* Keeps the chart at list[count], of the whole report or of series i, if it shows anything. */
static void keep(struct figures *f, enum figures_place place, size_t i, const char *label)
{
    struct chart *c = &f->list[f->count];
    size_t nname = strlen(c->name), ntitle = strlen(c->title);
    bool shows = false;

    chart_fit(c);
    if (i)
        snprintf(c->name + nname, sizeof c->name - nname, "_%zu", i + 1);
    if (label)
        snprintf(c->title + ntitle, sizeof c->title - ntitle, ", %s", label);
    if (f->fake_gpus) {
        size_t n = strlen(c->caption);
        snprintf(c->caption + n, sizeof c->caption - n, " The GPUs are fake: groups of CPU cores.");
        if (c->counts)
            snprintf(c->x.label, sizeof c->x.label, "fake GPUs (CPU cores)");
    }
    f->places[f->count] = place;
    f->failed |= c->failed;
    for (size_t k = 0; k < c->nseries; k++)
        shows |= c->series[k].count && c->series[k].colour != CHART_INK;
    if (shows)
        f->count++;
    else
        chart_destroy(c);
}

static void make_of_series(struct figures *f, const struct series *s, size_t i, const char *label)
{
    const struct curves curves = {s->rows, s->nrows, s->stepped, series_quality_title(s),
                                  s->quality, s->decimals};

    for (int k = 0; k < 4 && f->count < FIGURES_MAX; k++) {
        struct chart *c = &f->list[f->count];
        if (k < 2)
            make_curves(c, &curves, k == 1);
        else
            (k == 2 ? make_epoch_parts : make_run_parts)(c, s);
        keep(f, k < 2 ? FIGURES_LEARNING : FIGURES_TIME, i, label);
    }
}

static void find_fake_gpus(struct figures *f, const struct report *r)
{
    for (size_t i = 0; i < r->nseries; i++)
        f->fake_gpus |= series_of(r, i)->fake_gpus;
}

void figures_create_scaling(struct figures *f, const struct report *r)
{
    *f = (struct figures){0};
    find_fake_gpus(f, r);
    make_speedup_to(&f->list[0], r, "scaling", MODEL_FURTHEST);
    keep(f, FIGURES_FIRST, 0, NULL);
}

int figures_create(struct figures *f, const struct report *r, struct err *e)
{
    static void (*const common[])(struct chart *, const struct report *) = {
        make_speedup, make_iou, make_efficiency, make_epoch_time, make_cost, make_one_epoch};

    *f = (struct figures){0};
    find_fake_gpus(f, r);
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        common[i](&f->list[f->count], r);
        keep(f, i < 2 ? FIGURES_FIRST : FIGURES_TIME, 0, NULL);
    }
    for (size_t i = 0; i < r->nseries; i++)
        make_of_series(f, series_of(r, i), i, r->nseries > 1 ? r->series[i].label : NULL);
    if (!f->failed)
        return 0;
    figures_destroy(f);
    return mem_fail(e);
}

void figures_add(struct doc *d, struct figures *f, enum figures_place place)
{
    doc_begin(d, place == FIGURES_FIRST ? ROLE_FIRST_FIGURES : ROLE_FIGURES, TO_PAGES, "%s", "");
    for (size_t i = 0; i < f->count; i++)
        if (f->places[i] == place)
            doc_figure(d, TO_PAGES, &f->list[i], "figures/%s", f->list[i].name)->fold =
                place == FIGURES_FIRST ? FOLD_CLOSED : FOLD_NONE;
    doc_end(d);
}

void figures_add_bars(struct doc *d, const struct series *s)
{
    struct chart_series *ideal;
    struct chart c;

    start(&c, "", "", "speed-up", 2, "%s", "");
    snprintf(c.title, sizeof c.title, "speed-up in steady %ss, up to the ideal", series_interval(s));
    add_ratios(&c, chart_add_series(&c, CHART_LINE, 0, "speed-up"), s, series_speedup);
    ideal = chart_add_series(&c, CHART_LINE, CHART_INK, "ideal");
    for (size_t i = 0; i < s->npoints; i++)
        chart_add_point(&c, ideal, s->points[i].gpus, series_ideal(s, s->points[i].gpus), NAN, NAN);
    doc_figure(d, TO_TEXT, &c, "%s", "");
}

void report_add_live_figures(struct doc *d, const struct report *r,
                             const struct report_group *groups, size_t ngroups)
{
    struct figures f = {.fake_gpus = r && r->nseries && series_of(r, 0)->fake_gpus};

    if (r) {
        make_speedup(&f.list[0], r);
        keep(&f, FIGURES_FIRST, 0, NULL);
    }
    for (size_t i = 0; i < ngroups; i++)
        for (int k = 0; k < 2 && f.count < FIGURES_MAX; k++) {
            const struct result *first = groups[i].rows;
            const struct curves curves = {first, groups[i].n, first->stepped == 1, "Quality",
                                          result_quality_word(first), 4};
            make_curves(&f.list[f.count], &curves, k);
            keep(&f, FIGURES_LEARNING, i, ngroups > 1 ? groups[i].label : NULL);
        }
    d->failed |= f.failed;
    doc_begin(d, ROLE_FIGURES, TO_HTML, "%s", "");
    for (size_t i = 0; i < f.count; i++)
        doc_figure(d, TO_HTML, &f.list[i], "%s", "")->fold = FOLD_CLOSED;
    doc_end(d);
}

void figures_destroy(struct figures *f)
{
    for (size_t i = 0; i < f->count; i++)
        chart_destroy(&f->list[i]);
    f->count = 0;
}
