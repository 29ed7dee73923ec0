/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/chart/chart_gnuplot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/report/markup/escape.h"

#define NOT_FOUND 127 /* the exit code of the child if there is no gnuplot */

/* The first six are those of Okabe and Ito (2008), some darker for white paper; the next eight go
 * from violet to yellow as in viridis (van der Walt and Smith, 2015), from dark to light also in
 * grey; the last is neutral. */
static const char *const colours[CHART_NCOLOURS] = {
    "#0072b2", "#d55e00", "#00795a", "#a64d84", "#3f4850", "#8a6400", "#440154", "#46327e",
    "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#c8b900", "#666666"};

static const int filled[] = {7, 5, 9, 13}, open[] = {6, 4, 8, 12}; /* gnuplot's point types */

void chart_gnuplot_encode_data(const struct chart *c, struct buf *b)
{
    buf_addf(b, "# %s\n# 1 x  2 y  3 low  4 high  5 number beside the mark; a block per series\n",
             c->title);
    for (size_t i = 0; i < c->nseries; i++) {
        const struct chart_series *s = &c->series[i];
        buf_add(b, i ? "\n\n" : "");
        escape_format(b, escape_plain, "# %s\n", s->label);
        for (size_t k = 0; k < s->count; k++) {
            const struct chart_point *p = &s->points[k];
            const double values[] = {p->y, p->low, p->high};
            buf_addf(b, "%.9g", p->x);
            for (size_t m = 0; m < 3; m++)
                if (isfinite(values[m]))
                    buf_addf(b, " %.7g", values[m]);
                else
                    buf_add(b, " NaN");
            buf_addf(b, " %d\n", p->tag);
        }
        if (!s->count)
            buf_add(b, "NaN NaN NaN NaN 0\n");
    }
}

static void add_axis(struct buf *b, const struct chart_axis *a, const char *name)
{
    buf_addf(b, "set %srange [%.9g:%.9g]\nset %slabel ", name, a->low, a->high, name);
    escape_format(b, escape_gnuplot, "%s\n", a->label);
    if (a->logarithmic) {
        const char *comma = "";
        buf_addf(b, "set logscale %s\nset %stics (", name, name);
        for (double tic = NAN; chart_axis_next(a, &tic); comma = ", ")
            buf_addf(b, "%s%.9g", comma, tic);
        buf_add(b, ")\n");
    } else {
        buf_addf(b, "set %stics %.9g\nset format %s '%%.%df'\n", name, a->step, name,
                 chart_axis_decimals(a, a->low));
    }
}

static void add_head(struct buf *b, const struct chart *c)
{
    buf_addf(b, "# %s. Made by unetctl report; draw it again with: gnuplot %s.gp\n", c->title,
             c->name);
    buf_addf(b,
             "set encoding utf8\n"
             "set datafile missing 'NaN'\n"
             "set border %d lc rgb '#444444'\n"
             "set tics nomirror out\n"
             "set grid ytics lc rgb '#d5d5d5' lw 0.8 lt 1\n"
             "set key bmargin center horizontal maxcols 3 Left reverse samplen 2 spacing 1.2 font "
             "',13'\n"
             "set format '%%h'\n"
             "set xlabel offset 0,0.4\n",
             c->right.label[0] ? 11 : 3);
    add_axis(b, &c->x, "x");
    add_axis(b, &c->y, "y");
    if (c->right.label[0])
        add_axis(b, &c->right, "y2");
}

/* Returns half the width of a column: 0.36 of the smallest distance between two columns, or between
 * two tics if that is smaller. */
static double half_column(const struct chart *c, const struct chart_series *s)
{
    double least = c->x.step;

    for (size_t i = 1; i < s->count; i++)
        least = fmin(least, s->points[i].x - s->points[i - 1].x);
    return 0.36 * least;
}

static void add_style(struct buf *b, const struct chart *c, const struct chart_series *s)
{
    const char *colour = colours[s->colour];
    int type = (s->hollow ? open : filled)[s->mark & 3];
    double half = half_column(c, s);

    switch (s->style) {
    case CHART_MARKS:
        if (s->small)
            buf_addf(b, "using 1:2 with points pt 7 ps 0.3 lc rgb '#80%s'", colour + 1);
        else
            buf_addf(b, "using 1:2 with points pt %d ps 0.95 lw 1.5 lc rgb '%s'", type, colour);
        break;
    case CHART_JOINED:
        buf_addf(b, "using 1:2 with linespoints pt %d ps 0.95 lw 1.8%s lc rgb '%s'", type,
                 s->dashed ? " dt (7,5)" : "", colour);
        break;
    case CHART_LINE:
        buf_addf(b, "using 1:2 with lines lw 1.8%s lc rgb '%s'", s->dashed ? " dt (7,5)" : "",
                 colour);
        break;
    case CHART_BAND:
        buf_addf(b, "using 1:3:4 with filledcurves fs transparent solid 0.16 noborder fc rgb '%s'",
                 colour);
        break;
    case CHART_COLUMN:
        buf_addf(
            b,
            "using 1:4:($1-%.6g):($1+%.6g):3:4 with boxxyerror fs solid 0.9 border rgb '#ffffff' "
            "fc rgb '%s'",
            half, half, colour);
        break;
    }
    if (s->right)
        buf_add(b, " axes x1y2");
}

static bool has_tags(const struct chart_series *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->points[i].tag)
            return true;
    return false;
}

static bool has_intervals(const struct chart_series *s)
{
    for (size_t i = 0; i < s->count && s->style <= CHART_JOINED; i++)
        if (isfinite(s->points[i].low))
            return true;
    return false;
}

static void add_gnuplot_series(struct buf *b, const struct chart *c, size_t i)
{
    const struct chart_series *s = &c->series[i];

    buf_addf(b, "%s'%s.dat' index %zu ", i ? ", \\\n  " : "", c->name, i);
    add_style(b, c, s);
    escape_format(b, escape_gnuplot, s->unlisted ? " notitle" : " title %s", s->label);
    if (has_intervals(s)) /* yerrorbars would paint the background colour over the mark */
        buf_addf(b,
                 ", \\\n  '%s.dat' index %zu using 1:3:(0):($4-$3)%s with vectors heads size graph "
                 "0.006,90 lw 1.5 lc rgb '%s' notitle",
                 c->name, i, s->right ? " axes x1y2" : "", colours[s->colour]);
    if (has_tags(s))
        buf_addf(b, ", \\\n  '%s.dat' index %zu using 1:2:5 with labels font ',12' offset 1,0.7 "
                    "tc rgb '%s' notitle", c->name, i, colours[s->colour]);
}

void chart_gnuplot_encode_script(const struct chart *c, struct buf *b)
{
    add_head(b, c);
    buf_addf(
        b,
        "set terminal svg size 720,480 noenhanced font 'sans-serif,15' background rgb 'white' "
        "name '%s'\nset output '%s.svg'\nplot ",
        c->name, c->name);
    for (size_t i = 0; i < c->nseries; i++)
        add_gnuplot_series(b, c, i);
    buf_addf(
        b,
        "\nset terminal pdfcairo size 18cm,12cm noenhanced font 'sans-serif,12' background rgb "
        "'white'\nset output '%s.pdf'\nreplot\n"
        "set terminal pngcairo size 1440,960 noenhanced font 'sans-serif,15' fontscale 1.8 "
        "linewidth 2 pointscale 2.4 background rgb 'white'\nset output '%s.png'\nreplot\n"
        "unset output\n",
        c->name, c->name);
}

/* Runs in the child and does not return. The alarm survives exec and ends a gnuplot that hangs. */
static void become_gnuplot(const char *dir, const char *script, int output)
{
    if (chdir(dir) == 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0) {
        alarm(CHART_GNUPLOT_LIMIT_S);
        unsetenv("GNUTERM");
        execlp("gnuplot", "gnuplot", "-d", script, (char *)NULL);
    }
    _exit(errno == ENOENT ? NOT_FOUND : 126);
}

/* Keeps the last bytes of the output, as one line. */
static void read_output(int fd, char *last, size_t size)
{
    char piece[256];
    size_t length = 0;
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        for (ssize_t i = 0; i < n; i++) {
            if (length == size - 1)
                memmove(last, last + 1, --length);
            last[length++] = (unsigned char)piece[i] < ' ' ? ' ' : piece[i];
        }
    last[length] = '\0';
}

int chart_gnuplot_run(const char *dir, const char *script, struct err *e)
{
    char last[256];
    int ends[2], status;
    pid_t pid;

    if (pipe(ends))
        return err_errno(e, ERR_INTERNAL, errno, "can't start gnuplot");
    pid = fork();
    if (pid == 0)
        become_gnuplot(dir, script, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_errno(e, ERR_INTERNAL, errno, "can't start gnuplot");
    }
    read_output(ends[0], last, sizeof last);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return err_set(e, ERR_INTERNAL, "gnuplot is not installed");
    return err_set(e, ERR_INTERNAL, "gnuplot failed on %s/%s: %s", dir, script, last);
}
