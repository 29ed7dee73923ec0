/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/collect/path.h"
#include "launcher/report/escape.h"
#include "launcher/report/gnuplot.h"
#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/epoch_csv.h"

#define MAX_TICS 16
#define MAX_CURVE 1000 /* points of a loss curve; longer ones are thinned */

/* Okabe and Ito (2008): told apart with any colour vision. One per engine. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"};
enum { NCOLOURS = sizeof colours / sizeof colours[0] };

/* Columns of scaling.dat; one block per engine. */
static const char data_head[] =
    "# 1 GPUs  2 ideal speed-up  3 steady speed-up  4 its least  5 its most  6 total speed-up\n"
    "# 7 IoU  8 its least  9 its most  10 steady efficiency  11 total efficiency\n"
    "# 12 steady epoch s  13 its least  14 its most  15 first epoch s  16 ideal epoch s\n";

static int write_text(const char *dir, const char *name, struct buf *b, struct err *e)
{
    char path[PATH_MAX], *text = buf_steal(b);
    int rc;

    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for %s", name);
    rc = atomicfile_write(path_format(path, "%s/%s", dir, name), text, strlen(text), 0666, e);
    free(text);
    return rc;
}

static void add_numbers(struct buf *b, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            buf_addf(b, " %.6g", values[i]);
        else
            buf_add(b, " NaN");
    buf_add(b, "\n");
}

static void add_point(struct buf *b, const struct scaling *s, const struct scaling_point *p)
{
    double base = s->points[0].epoch_s.median, ideal = scaling_ideal(s, p->gpus);
    const double row[] = {ideal, p->speedup_steady, base / p->epoch_s.max, base / p->epoch_s.min,
                          p->speedup_total, p->iou.median, p->iou.min, p->iou.max, p->efficiency,
                          p->efficiency_total, p->epoch_s.median, p->epoch_s.min, p->epoch_s.max,
                          p->first_epoch_s.median, base / ideal};

    buf_addf(b, "%d", p->gpus);
    add_numbers(b, row, sizeof row / sizeof row[0]);
}

static int write_scaling_data(const struct report *r, const char *dir, struct err *e)
{
    struct buf b = {0};

    buf_add(&b, data_head);
    for (size_t i = 0; i < r->nengines; i++) {
        const struct scaling *s = &r->engines[i].scaling;
        buf_add(&b, i ? "\n\n# " : "# ");
        escape_plain(&b, s->engine);
        buf_add(&b, "\n");
        for (size_t k = 0; k < s->npoints; k++)
            add_point(&b, s, &s->points[k]);
    }
    return write_text(dir, "scaling.dat", &b, e);
}

static int largest_count(const struct report *r)
{
    int largest = 1;

    for (size_t i = 0; i < r->nengines; i++) {
        const struct scaling *s = &r->engines[i].scaling;
        if (s->points[s->npoints - 1].gpus > largest)
            largest = s->points[s->npoints - 1].gpus;
    }
    return largest;
}

static bool has_repeats(const struct report *r)
{
    for (size_t i = 0; i < r->nengines; i++)
        for (size_t k = 0; k < r->engines[i].scaling.npoints; k++)
            if (r->engines[i].scaling.points[k].nruns > 1)
                return true;
    return false;
}

/* What every script starts with. */
static void add_head(struct buf *b, const struct figure *f)
{
    buf_addf(b, "# %s. Made by unetctl report; draw it again with: gnuplot %s.gp\n", f->title, f->name);
    buf_add(b, "set encoding utf8\n"
               "set datafile missing 'NaN'\n"
               "set border 3 lc rgb '#444444'\n"
               "set tics nomirror out\n"
               "set grid ytics lc rgb '#d5d5d5' lw 0.8 lt 1\n"
               "set key below maxrows 3 Left reverse samplen 2 spacing 1.2 font ',13'\n"
               "set style line 100 lc rgb '#666666' lw 1.6 dt (7,5)\n");
}

/* A whole-numbered axis of GPU counts. */
static void add_count_axis(struct buf *b, const struct report *r)
{
    int largest = largest_count(r), step = 1;

    while (largest / step > MAX_TICS)
        step *= 2;
    buf_addf(b, "set xlabel \"GPUs\\n\" offset 0,0.5\nset xtics %d\nset xrange [0:%g]\n", step, largest * 1.04);
}

/* plot: everything behind the word "plot". */
static void add_plot(struct buf *b, const struct figure *f, const struct buf *plot)
{
    buf_addf(b, "set terminal svg size 720,480 noenhanced font 'sans-serif,15' background rgb 'white' "
                "name '%s'\nset output '%s.svg'\nplot ", f->name, f->name);
    buf_add(b, plot->data ? plot->data : "");
    buf_addf(b, "\nset terminal pngcairo size 1440,960 noenhanced font 'sans-serif,15' fontscale 1.8 "
                "linewidth 2 pointscale 2.4 background rgb 'white'\nset output '%s.png'\nreplot\n"
                "unset output\n", f->name);
}

static void add_label(struct buf *plot, const struct report *r, size_t i, const char *what)
{
    struct buf label = {0};

    if (r->nengines > 1)
        buf_addf(&label, "%s: ", r->engines[i].scaling.engine);
    buf_add(&label, what);
    buf_add(plot, " title ");
    escape_gnuplot(plot, label.data ? label.data : "");
    buf_destroy(&label);
}

/* One series of scaling.dat: using columns, style words, label. */
static void add_series(struct buf *plot, const struct report *r, size_t i, const char *columns,
                       const char *style, const char *label)
{
    buf_addf(plot, "%s'scaling.dat' index %zu using %s %s lc rgb '%s'", plot->length ? ", \\\n  " : "",
             i, columns, style, colours[i % NCOLOURS]);
    add_label(plot, r, i, label);
}

static int write_figure(const struct figure *f, const char *dir, struct buf *script, struct buf *plot,
                        struct err *e)
{
    char name[48];

    add_plot(script, f, plot);
    script->failed |= plot->failed;
    buf_destroy(plot);
    snprintf(name, sizeof name, "%s.gp", f->name);
    return write_text(dir, name, script, e);
}

static struct figure *add_figure(struct figures *f, const char *name, const char *title,
                                 const char *caption)
{
    struct figure *added = &f->list[f->count++];

    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->title, sizeof added->title, "%s", title);
    snprintf(added->caption, sizeof added->caption, "%s", caption);
    return added;
}

static int write_speedup(struct figures *f, const struct report *r, const char *dir, struct err *e)
{
    const struct scaling *widest = &r->engines[0].scaling;
    bool bars = has_repeats(r);
    struct buf script = {0}, plot = {0};
    const struct figure *figure = add_figure(
        f, "speedup", "Speed-up against the ideal, and IoU",
        "Filled marks: speed-up of the median steady epoch, joined to guide the eye. Open circles: "
        "speed-up of the whole training, first epoch included. Dashed: ideal. Diamonds, right axis: "
        "IoU after the last epoch; not joined, because each count trains its own network. Bars: "
        "range over seeds.");

    for (size_t i = 1; i < r->nengines; i++)
        if (r->engines[i].scaling.points[0].gpus < widest->points[0].gpus)
            widest = &r->engines[i].scaling;
    add_head(&script, figure);
    add_count_axis(&script, r);
    buf_add(&script, "set border 11\nset ylabel 'speed-up'\nset yrange [0:*]\n"
                     "set y2label 'IoU'\nset y2range [0:1]\nset y2tics 0.2\n");
    for (size_t i = 0; i < r->nengines; i++) {
        add_series(&plot, r, i, bars ? "1:3:4:5" : "1:3",
                   bars ? "with yerrorlines pt 7 ps 0.9 lw 1.8" : "with linespoints pt 7 ps 0.9 lw 1.8",
                   "steady epochs");
        add_series(&plot, r, i, "1:6", "with points pt 6 ps 0.95 lw 1.5", "whole training");
        add_series(&plot, r, i, bars ? "1:7:8:9 axes x1y2" : "1:7 axes x1y2",
                   bars ? "with yerrorbars pt 12 ps 1.05 lw 1.5" : "with points pt 12 ps 1.05 lw 1.5",
                   "IoU (right axis)");
    }
    buf_addf(&plot, ", \\\n  [0:%d] x/%d.0 ls 100 title 'ideal speed-up'", largest_count(r),
             widest->points[0].gpus);
    return write_figure(figure, dir, &script, &plot, e);
}

static int write_efficiency(struct figures *f, const struct report *r, const char *dir, struct err *e)
{
    struct buf script = {0}, plot = {0};
    const struct figure *figure = add_figure(
        f, "efficiency", "Parallel efficiency",
        "Speed-up divided by the ideal. Filled: steady epochs. Open: whole training. Upper dashed "
        "line: ideal; lower line: what the verdict asks for.");

    add_head(&script, figure);
    add_count_axis(&script, r);
    buf_add(&script, "set ylabel 'efficiency'\nset yrange [0:1.1<*]\n");
    for (size_t i = 0; i < r->nengines; i++) {
        add_series(&plot, r, i, "1:10", "with linespoints pt 7 ps 0.9 lw 1.8", "steady epochs");
        add_series(&plot, r, i, "1:11", "with points pt 6 ps 0.95 lw 1.5", "whole training");
    }
    buf_addf(&plot, ", \\\n  [0:%d] 1 ls 100 title 'ideal', \\\n  [0:%d] %g lc rgb '#999999' lw 1.4 "
                    "dt (2,4) title 'worth it: %g'", largest_count(r), largest_count(r),
             VERDICT_EFFICIENCY, VERDICT_EFFICIENCY);
    return write_figure(figure, dir, &script, &plot, e);
}

static int write_epoch_time(struct figures *f, const struct report *r, const char *dir, struct err *e)
{
    bool bars = has_repeats(r);
    struct buf script = {0}, plot = {0};
    const struct figure *figure = add_figure(
        f, "epoch_time", "Time per epoch",
        "Filled: median of the epochs after the first. Open: the first epoch, which pays for "
        "start-up. Dashed: the base case divided by the ideal speed-up. Bars: range over seeds.");

    add_head(&script, figure);
    add_count_axis(&script, r);
    buf_add(&script, "set ylabel 'seconds per epoch'\nset yrange [0:*]\n");
    for (size_t i = 0; i < r->nengines; i++) {
        const struct scaling *s = &r->engines[i].scaling;
        add_series(&plot, r, i, bars ? "1:12:13:14" : "1:12",
                   bars ? "with yerrorbars pt 7 ps 0.9 lw 1.8" : "with points pt 7 ps 0.9 lw 1.8",
                   "steady epoch");
        add_series(&plot, r, i, "1:15", "with points pt 6 ps 0.95 lw 1.5", "first epoch");
        buf_addf(&plot, ", \\\n  [%d:%d] %.9g/x lw 1.3 dt (7,5) lc rgb '%s'",
                 s->points[0].gpus, s->points[s->npoints - 1].gpus,
                 s->points[0].epoch_s.median * s->points[0].gpus, colours[i % NCOLOURS]);
        add_label(&plot, r, i, "ideal");
    }
    return write_figure(figure, dir, &script, &plot, e);
}

/* Viridis (van der Walt and Smith, 2015) from its dark end to light green: t in 0..1. */
static void shade(double t, char dst[8])
{
    static const unsigned char stops[][3] = {{68, 1, 84},    {65, 68, 135}, {42, 120, 142},
                                             {34, 168, 132}, {122, 209, 81}};
    double place = t * 4;
    int low = place >= 4 ? 3 : (int)place;
    int c[3];

    for (int i = 0; i < 3; i++)
        c[i] = (int)lround(stops[low][i] + (place - low) * (stops[low + 1][i] - stops[low][i]));
    snprintf(dst, 8, "#%02x%02x%02x", c[0] & 255, c[1] & 255, c[2] & 255);
}

/* The first good run of a count. */
static const struct result *first_run(const struct report *r, const struct scaling *s, int gpus)
{
    for (size_t i = 0; i < r->results->count; i++) {
        const struct result *row = &r->results->rows[i];
        if (row->state == RESULT_DONE && row->gpus == gpus && strcmp(row->engine, s->engine) == 0)
            return row;
    }
    return NULL;
}

/* false: its log can't be read (any more). */
static bool add_curve(struct buf *data, const struct report *r, const struct result *run,
                      size_t *longest)
{
    char path[PATH_MAX];
    struct epoch_csv log = {0};
    struct err e;

    if (!run || !run->log[0] || strchr(run->log, '/') ||
        epoch_csv_read(path_format(path, "%s/%s", r->logs_dir, run->log), &log, &e))
        return false;
    size_t step = (log.count + MAX_CURVE - 1) / MAX_CURVE;
    if (log.count > *longest)
        *longest = log.count;
    for (size_t i = 0; i < log.count; i += step)
        buf_addf(data, "%zu %.6g\n", i, log.rows[i].loss);
    epoch_csv_destroy(&log);
    return true;
}

static int write_loss(struct figures *f, const struct report *r, size_t engine, const char *dir,
                      struct err *e)
{
    const struct scaling *s = &r->engines[engine].scaling;
    struct buf script = {0}, plot = {0}, data = {0};
    char name[32] = "loss", title[128], data_name[48];
    size_t ncurves = 0, longest = 0;

    if (engine)
        snprintf(name, sizeof name, "loss_%zu", engine + 1);
    snprintf(title, sizeof title, "Loss per epoch%s%s", r->nengines > 1 ? ", " : "",
             r->nengines > 1 ? s->engine : "");
    snprintf(data_name, sizeof data_name, "%s.dat", name);
    buf_add(&data, "# 1 epoch  2 loss; one block per number of GPUs\n");
    for (size_t i = 0; i < s->npoints; i++) {
        struct buf curve = {0};
        char colour[8];
        if (add_curve(&curve, r, first_run(r, s, s->points[i].gpus), &longest)) {
            shade(s->npoints > 1 ? (double)i / (double)(s->npoints - 1) : 0, colour);
            buf_addf(&data, "%s# %d GPUs\n", ncurves ? "\n\n" : "", s->points[i].gpus);
            buf_add(&data, curve.data);
            buf_addf(&plot, "%s'%s' index %zu using 1:2 with lines lw 1.6 lc rgb '%s' title '%d GPU%s'",
                     ncurves ? ", \\\n  " : "", data_name, ncurves, colour, s->points[i].gpus,
                     s->points[i].gpus == 1 ? "" : "s");
            ncurves++;
        }
        buf_destroy(&curve);
    }
    if (!ncurves || write_text(dir, data_name, &data, e)) {
        buf_destroy(&data);
        buf_destroy(&plot);
        return ncurves ? -1 : 0;
    }
    const struct figure *figure = add_figure(
        f, name, title,
        "Mean training loss over the images of an epoch, one line per number of GPUs: the first seed "
        "of each. From violet, the fewest GPUs, to green, the most.");
    add_head(&script, figure);
    buf_add(&script, "set key below maxrows 2\nset xlabel \"epoch\\n\" offset 0,0.5\nset ylabel 'loss'\n"
                     "set yrange [0:*]\n");
    if (longest <= MAX_TICS)
        buf_add(&script, "set xtics 1\n");
    return write_figure(figure, dir, &script, &plot, e);
}

/* A picture of an earlier report must not stand beside the data of this one. */
static void remove_old(const struct figures *f, const char *dir)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < f->count; i++) {
        unlink(path_format(path, "%s/%s.svg", dir, f->list[i].name));
        unlink(path_format(path, "%s/%s.png", dir, f->list[i].name));
    }
}

static void draw(struct figures *f, const char *dir)
{
    char script[48];
    struct err e;

    f->drawn = true;
    remove_old(f, dir);
    for (size_t i = 0; i < f->count && f->drawn; i++) {
        snprintf(script, sizeof script, "%s.gp", f->list[i].name);
        if (gnuplot_run(dir, script, &e)) {
            f->drawn = false;
            snprintf(f->why_not, sizeof f->why_not, "%.250s", e.text);
        }
    }
}

int figures_write(struct figures *f, const struct report *r, const char *dir, struct err *e)
{
    *f = (struct figures){0};
    if (write_scaling_data(r, dir, e) || write_speedup(f, r, dir, e) ||
        write_efficiency(f, r, dir, e) || write_epoch_time(f, r, dir, e))
        return -1;
    for (size_t i = 0; i < r->nengines && f->count < FIGURES_MAX; i++)
        if (write_loss(f, r, i, dir, e))
            return -1;
    draw(f, dir);
    return 0;
}
