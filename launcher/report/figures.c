/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/collect/path.h"
#include "launcher/report/chart_gnuplot.h"
#include "launcher/report/gnuplot.h"
#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/epoch_csv.h"

#define MAX_CURVE 240 /* points of a loss curve; longer ones are thinned */

static int colour_of(size_t series)
{
    return (int)(series % CHART_COLOURS);
}

/* A series of the chart for series i of the report, with its colour and mark. */
static struct chart_series *add(struct chart *c, const struct report *r, size_t i, enum chart_style style,
                                const char *what)
{
    struct chart_series *s =
        r->nseries > 1 ? chart_add_series(c, style, colour_of(i), "%s: %s", r->series[i].label, what)
                       : chart_add_series(c, style, colour_of(i), "%s", what);

    if (s)
        s->mark = (int)(i % 4);
    return s;
}

static struct chart_series *hollow(struct chart_series *s)
{
    if (s)
        s->hollow = true;
    return s;
}

static void set_axis(struct chart_axis *a, const char *label, int decimals)
{
    snprintf(a->label, sizeof a->label, "%s", label);
    a->decimals = decimals;
}

/* A chart over numbers of GPUs. */
static void start(struct chart *c, const char *name, const char *title, const char *y, int decimals,
                  const char *caption)
{
    chart_init(c, name, title, "%s", caption);
    c->counts = true;
    set_axis(&c->x, "GPUs", 0);
    set_axis(&c->y, y, decimals);
}

static double least(const struct scaling_spread *s)
{
    return s->count > 1 ? s->min : NAN;
}

static double most(const struct scaling_spread *s)
{
    return s->count > 1 ? s->max : NAN;
}

static void add_spread(struct chart *c, struct chart_series *s, double x, const struct scaling_spread *spread)
{
    chart_add_point(c, s, x, spread->median, least(spread), most(spread));
}

static int largest_count(const struct report *r)
{
    int largest = 1;

    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        if (s->points[s->npoints - 1].gpus > largest)
            largest = s->points[s->npoints - 1].gpus;
    }
    return largest;
}

/* The straight line y = height + slope x over all counts; what is no measurement. */
static void add_guide(struct chart *c, const struct report *r, double height, double slope, const char *label)
{
    struct chart_series *s = chart_add_series(c, CHART_LINE, CHART_INK, "%s", label);
    double largest = largest_count(r);

    if (s)
        s->dashed = true;
    chart_add_point(c, s, 0, height, NAN, NAN);
    chart_add_point(c, s, largest, height + slope * largest, NAN, NAN);
}

/* The ideal speed-up of all series, when their base cases are the same count. */
static void add_ideal(struct chart *c, const struct report *r)
{
    int base = r->series[0].scaling.points[0].gpus;

    for (size_t i = 1; i < r->nseries; i++)
        if (r->series[i].scaling.points[0].gpus != base)
            return;
    add_guide(c, r, 0, 1.0 / base, "ideal");
}

static void make_speedup(struct chart *c, const struct report *r)
{
    start(c, "speedup", "Speed-up against the ideal", "speed-up", 2,
          "Filled: speed-up of the median steady epoch, joined to guide the eye. Open: speed-up of the "
          "whole training, first epoch included. Bars: range over the runs of a count.");
    add_ideal(c, r);
    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        double base = s->points[0].epoch_s.median;
        struct chart_series *total = hollow(add(c, r, i, CHART_MARKS, "whole training"));
        for (size_t k = 0; k < s->npoints; k++)
            chart_add_point(c, total, s->points[k].gpus, s->points[k].speedup_total, NAN, NAN);
        struct chart_series *steady = add(c, r, i, CHART_JOINED, "steady epochs");
        for (size_t k = 0; k < s->npoints; k++)
            chart_add_point(c, steady, s->points[k].gpus, s->points[k].speedup_steady,
                            base / most(&s->points[k].epoch_s), base / least(&s->points[k].epoch_s));
    }
    chart_fit(c, true);
}

static void make_iou(struct chart *c, const struct report *r)
{
    start(c, "iou", "Quality: IoU after the last epoch", "IoU", 4,
          "Median over the runs of a count; bars: their range; light dots: single runs. Not joined, "
          "because each count trains its own network.");
    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        struct chart_series *iou = add(c, r, i, CHART_MARKS, "IoU");
        for (size_t k = 0; k < s->npoints; k++)
            add_spread(c, iou, s->points[k].gpus, &s->points[k].iou);
    }
    chart_fit(c, false);
}

static void make_efficiency(struct chart *c, const struct report *r)
{
    char worth[48];

    start(c, "efficiency", "Parallel efficiency", "efficiency", 3,
          "Speed-up divided by the ideal. Filled: steady epochs. Open: whole training.");
    add_guide(c, r, 1, 0, "ideal");
    snprintf(worth, sizeof worth, "worth it from %.2f on", VERDICT_EFFICIENCY);
    add_guide(c, r, VERDICT_EFFICIENCY, 0, worth);
    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        struct chart_series *total = hollow(add(c, r, i, CHART_MARKS, "whole training"));
        for (size_t k = 0; k < s->npoints; k++)
            chart_add_point(c, total, s->points[k].gpus, s->points[k].efficiency_total, NAN, NAN);
        struct chart_series *steady = add(c, r, i, CHART_JOINED, "steady epochs");
        for (size_t k = 0; k < s->npoints; k++)
            chart_add_point(c, steady, s->points[k].gpus, s->points[k].efficiency, NAN, NAN);
    }
    chart_fit(c, true);
}

static void make_epoch_time(struct chart *c, const struct report *r)
{
    start(c, "epoch_time", "Time per epoch", "seconds", 2,
          "Filled: median of the epochs after the first. Open: the first epoch, which pays for "
          "start-up. Bars: range over the runs of a count.");
    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        struct chart_series *first = hollow(add(c, r, i, CHART_MARKS, "first epoch"));
        for (size_t k = 0; k < s->npoints; k++)
            add_spread(c, first, s->points[k].gpus, &s->points[k].first_epoch_s);
        struct chart_series *steady = add(c, r, i, CHART_JOINED, "steady epoch");
        for (size_t k = 0; k < s->npoints; k++)
            add_spread(c, steady, s->points[k].gpus, &s->points[k].epoch_s);
    }
    chart_fit(c, true);
}

static void make_cost(struct chart *c, const struct report *r)
{
    chart_init(c, "cost", "What the time costs",
               "GPU-hours of one training against its time; the number beside a mark is that of its "
               "GPUs. Left is faster, low is cheaper.");
    set_axis(&c->x, "training time, hours", 3);
    c->x.logarithmic = true;
    set_axis(&c->y, "GPU-hours", 3);
    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        struct chart_series *cost = add(c, r, i, CHART_MARKS, "one training");
        for (size_t k = 0; k < s->npoints; k++) {
            chart_add_point(c, cost, s->points[k].training_time.median / 3600, s->points[k].gpu_hours, NAN, NAN);
            if (cost && cost->count)
                cost->points[cost->count - 1].tag = s->points[k].gpus;
        }
    }
    chart_fit(c, true);
}

/* What the reference notebook draws: speed-up of one epoch, and IoU on a second axis. */
static void make_notebook(struct chart *c, const struct report *r)
{
    start(c, "notebook", "As the reference notebook draws it", "speed-up of the second epoch", 2,
          "Speed-up of a single epoch, the one of index 1, of one run (filled), and the IoU of that "
          "run's count (open, right axis), without repeats or intervals: for comparison with figures "
          "that were made so.");
    set_axis(&c->right, "IoU", 4);
    c->right.high = 1;
    c->right.step = 0.2;
    add_ideal(c, r);
    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        struct chart_series *iou = hollow(add(c, r, i, CHART_JOINED, "IoU"));
        if (iou)
            iou->right = iou->dashed = true;
        for (size_t k = 0; k < s->npoints; k++)
            chart_add_point(c, iou, s->points[k].gpus, s->points[k].iou.median, NAN, NAN);
        struct chart_series *speedup = add(c, r, i, CHART_JOINED, "speed-up");
        for (size_t k = 0; k < s->npoints; k++)
            chart_add_point(c, speedup, s->points[k].gpus, s->points[k].speedup_second, NAN, NAN);
    }
    chart_fit(c, true);
}

static void name_one(struct chart *c, const struct report *r, size_t i)
{
    size_t n = strlen(c->name);

    if (i)
        snprintf(c->name + n, sizeof c->name - n, "_%zu", i + 1);
    n = strlen(c->title);
    if (r->nseries > 1)
        snprintf(c->title + n, sizeof c->title - n, ", %s", r->series[i].label);
}

/* Where the time of a steady epoch goes. */
static void make_parts(struct chart *c, const struct report *r, size_t i)
{
    static const char *const names[] = {"computing and the rest", "communication not hidden", "waiting for data"};
    static const int colours[] = {0, 1, 5};
    const struct scaling *s = &r->series[i].scaling;

    start(c, "parts", "Where a steady epoch's time goes", "seconds", 3,
          "Medians over the runs of a count, as rank 0 saw them.");
    name_one(c, r, i);
    for (int part = 0; part < 3; part++) {
        struct chart_series *column = chart_add_series(c, CHART_COLUMN, colours[part], "%s", names[part]);
        for (size_t k = 0; k < s->npoints; k++) {
            const struct scaling_point *p = &s->points[k];
            double comm = p->comm_s.median, data = p->data_s.median, rest = p->epoch_s.median - comm - data;
            const double from[] = {0, rest, rest + comm}, to[] = {rest, rest + comm, rest + comm + data};
            if (isfinite(rest))
                chart_add_point(c, column, p->gpus, NAN, from[part], fmax(from[part], to[part]));
        }
    }
    chart_fit(c, true);
}

/* The first good run of a count. */
static const struct result *first_run(const struct report_series *s, int gpus)
{
    const struct results *results = &s->source->results;

    for (size_t i = 0; i < results->count; i++) {
        const struct result *row = &results->rows[i];
        if (row->state == RESULT_DONE && row->gpus == gpus && strcmp(row->engine, s->scaling.engine) == 0)
            return row;
    }
    return NULL;
}

/* Nothing where its log can't be read (any more). */
static void add_curve(struct chart *c, const struct report_series *s, int gpus, int colour)
{
    const struct result *run = first_run(s, gpus);
    struct epoch_csv log = {0};
    char path[PATH_MAX];
    struct err e;

    if (!run || !run->log[0] || strchr(run->log, '/') ||
        epoch_csv_read(path_format(path, "%s/%s", s->source->logs_dir, run->log), &log, &e))
        return;
    struct chart_series *curve = chart_add_series(c, CHART_LINE, colour, "%d GPU%s", gpus, gpus == 1 ? "" : "s");
    size_t step = (log.count + MAX_CURVE - 1) / MAX_CURVE;
    for (size_t i = 0; i < log.count; i += step)
        chart_add_point(c, curve, (double)i, log.rows[i].loss, NAN, NAN);
    epoch_csv_destroy(&log);
}

/* At most CHART_SHADES counts, evenly chosen, the least and the most among them. */
static void make_loss(struct chart *c, const struct report *r, size_t i)
{
    const struct report_series *s = &r->series[i];
    size_t n = s->scaling.npoints, shown = n < CHART_SHADES ? n : CHART_SHADES;

    chart_init(c, "loss", "Loss per epoch",
               "Mean training loss over the images of an epoch: the first run of each count%s. From "
               "violet, the fewest GPUs, to yellow, the most.", shown < n ? " (some of them)" : "");
    name_one(c, r, i);
    set_axis(&c->x, "epoch", 0);
    set_axis(&c->y, "loss", 4);
    for (size_t k = 0; k < shown; k++) {
        size_t at = shown > 1 ? k * (n - 1) / (shown - 1) : 0;
        int shade = shown > 1 ? (int)(k * (CHART_SHADES - 1) / (shown - 1)) : 0;
        add_curve(c, s, s->scaling.points[at].gpus, CHART_SHADE + shade);
    }
    chart_fit(c, true);
}

/* Keep the chart that was made at list[count], if it shows anything. */
static void keep(struct figures *f, bool *failed)
{
    struct chart *c = &f->list[f->count];
    bool shows = false;

    *failed |= c->failed;
    for (size_t i = 0; i < c->nseries; i++)
        shows |= c->series[i].count && c->series[i].colour != CHART_INK;
    if (shows)
        f->count++;
    else
        chart_destroy(c);
}

int figures_create(struct figures *f, const struct report *r, struct err *e)
{
    static void (*const common[])(struct chart *, const struct report *) = {
        make_speedup, make_iou, make_efficiency, make_epoch_time, make_cost, make_notebook};
    static void (*const single[])(struct chart *, const struct report *, size_t) = {make_parts, make_loss};
    bool failed = false;

    *f = (struct figures){0};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        common[i](&f->list[f->count], r);
        keep(f, &failed);
    }
    for (size_t i = 0; i < r->nseries; i++)
        for (size_t k = 0; k < 2 && f->count < FIGURES_MAX; k++) {
            single[k](&f->list[f->count], r, i);
            keep(f, &failed);
        }
    if (!failed)
        return 0;
    figures_destroy(f);
    return err_set(e, ERR_INTERNAL, "out of memory for the figures");
}

static int write_text(const char *dir, const char *name, const char *suffix, struct buf *b, struct err *e)
{
    char path[PATH_MAX], *text = buf_steal(b);
    int rc;

    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for %s%s", name, suffix);
    rc = atomicfile_write(path_format(path, "%s/%s%s", dir, name, suffix), text, strlen(text), 0666, e);
    free(text);
    return rc;
}

static int write_chart(const struct chart *c, const char *dir, struct err *e)
{
    struct buf data = {0}, script = {0};
    int rc;

    chart_gnuplot_encode_data(c, &data);
    chart_gnuplot_encode_script(c, &script);
    rc = write_text(dir, c->name, ".dat", &data, e) || write_text(dir, c->name, ".gp", &script, e) ? -1 : 0;
    buf_destroy(&script);
    return rc;
}

/* A picture of an earlier report must not stand beside the data of this one. */
static void remove_pictures(const struct chart *c, const char *dir)
{
    static const char *const suffixes[] = {"svg", "pdf", "png"};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        unlink(path_format(path, "%s/%s.%s", dir, c->name, suffixes[i]));
}

int figures_draw(struct figures *f, const char *dir, struct err *e)
{
    struct err why;
    char script[48];

    for (size_t i = 0; i < f->count; i++) {
        remove_pictures(&f->list[i], dir);
        if (write_chart(&f->list[i], dir, e))
            return -1;
    }
    f->drawn = true;
    for (size_t i = 0; i < f->count && f->drawn; i++) {
        snprintf(script, sizeof script, "%s.gp", f->list[i].name);
        if (gnuplot_run(dir, script, &why)) {
            f->drawn = false;
            snprintf(f->why_not, sizeof f->why_not, "%.250s", why.text);
        }
    }
    for (size_t i = 0; i < f->count && !f->drawn; i++)
        remove_pictures(&f->list[i], dir);
    return 0;
}

void figures_destroy(struct figures *f)
{
    for (size_t i = 0; i < f->count; i++)
        chart_destroy(&f->list[i]);
    f->count = 0;
}
