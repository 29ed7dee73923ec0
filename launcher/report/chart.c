/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/chart.h"

#include <math.h>

#define LINE_STOPS 16 /* about how many points of a line are listed, unless listed_step is set */

void chart_init(struct chart *c, const char *name, const char *title, const char *caption, ...)
{
    va_list ap;

    *c = (struct chart){0};
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->title, sizeof c->title, "%s", title);
    va_start(ap, caption);
    vsnprintf(c->caption, sizeof c->caption, caption, ap);
    va_end(ap);
}

struct chart_series *chart_add_series(struct chart *c, enum chart_style style, int colour,
                                      const char *label, ...)
{
    struct chart_series *added = &c->lost;
    va_list ap;

    if (mem_grow(&c->series, c->nseries, &c->capacity, sizeof *c->series, NULL))
        c->failed = true;
    else
        added = &c->series[c->nseries++];
    *added = (struct chart_series){.style = style, .colour = colour};
    va_start(ap, label);
    vsnprintf(added->label, sizeof added->label, label, ap);
    va_end(ap);
    return added;
}

void chart_add_point(struct chart *c, struct chart_series *s, double x, double y, double low,
                     double high)
{
    bool marks = s->style == CHART_MARKS || s->style == CHART_JOINED;

    if (s == &c->lost || (marks && isnan(y)))
        return;
    if (mem_grow(&s->points, s->count, &s->capacity, sizeof *s->points, NULL))
        c->failed = true;
    else
        s->points[s->count++] = (struct chart_point){.x = x, .y = y, .low = low, .high = high};
}

bool chart_series_lists(const struct chart_series *s, size_t i)
{
    size_t step = (s->count + LINE_STOPS - 1) / LINE_STOPS;

    if (s->small || s->style == CHART_BAND || s->colour == CHART_INK)
        return false;
    if (s->style != CHART_LINE)
        return true;
    if (s->thin)
        return i == s->count - 1;
    return s->listed_step ? i >= s->listed_first && (i - s->listed_first) % s->listed_step == 0
                        : i % step == step - 1;
}

/* Returns the smallest of 1, 2 and 5 times a power of ten that is not below rough. */
static double round_step(double rough)
{
    static const double factors[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(rough)));
    size_t i = 0;

    while (i < 3 && factors[i] * power < rough * (1 - 1e-9))
        i++;
    return factors[i] * power;
}

void chart_axis_fit(struct chart_axis *a, double low, double high, int ntics)
{
    double rough = (high - low) / ntics;

    if (!(rough > 0)) {
        low = low > 0 ? 0 : low - 1;
        high = high > 0 ? high : high + 1;
        rough = (high - low) / ntics;
    }
    a->step = round_step(rough);
    if (a->whole && a->step < 1)
        a->step = 1;
    a->low = a->step * floor(low / a->step + 1e-9);
    a->high = a->step * ceil(high / a->step - 1e-9);
}

bool chart_axis_next(const struct chart_axis *a, double *tic)
{
    if (a->logarithmic && a->step == 0)
        *tic = round_step(isnan(*tic) ? a->low : *tic * 1.5);
    else if (isnan(*tic))
        *tic = a->step * ceil(a->low / a->step - 1e-9);
    else
        *tic = a->step * round(*tic / a->step + 1);
    return *tic <= a->high + 1e-6 * (a->high - a->low);
}

double chart_axis_place(const struct chart_axis *a, double value)
{
    if (a->logarithmic)
        return log(value / a->low) / log(a->high / a->low);
    return (value - a->low) / (a->high - a->low);
}

int chart_axis_decimals(const struct chart_axis *a, double tic)
{
    int decimals = (int)-floor(log10(a->step > 0 ? a->step : tic) + 1e-9);

    return decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
}

static void widen_range(double value, double *low, double *high)
{
    if (!isfinite(value))
        return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

/* Uses tics at 1, 2 and 5 times powers of ten; if there are fewer than three, evenly spaced
 * ones. */
static void fit_logarithm(struct chart_axis *a, double low, double high)
{
    int ntics = 0;

    a->low = low;
    a->high = high;
    for (double tic = NAN; chart_axis_next(a, &tic);)
        ntics++;
    if (ntics < 3)
        a->step = round_step((high - low) / 8);
}

static void fit_y(struct chart *c, struct chart_axis *a, bool right)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < c->nseries; i++) {
        const struct chart_series *s = &c->series[i];
        for (size_t k = 0; s->right == right && k < s->count; k++) {
            widen_range(s->points[k].y, &low, &high);
            widen_range(s->points[k].low, &low, &high);
            widen_range(s->points[k].high, &low, &high);
        }
    }
    if (a->high > a->low || low > high)
        return;
    chart_axis_fit(a, c->floats ? low : fmin(low, 0), high, 7);
}

static void fit_x(struct chart *c)
{
    double low = c->counts ? 0 : INFINITY, high = -INFINITY;

    for (size_t i = 0; i < c->nseries; i++)
        for (size_t k = 0; k < c->series[i].count; k++)
            if (!c->x.logarithmic || c->series[i].points[k].x > 0)
                widen_range(c->series[i].points[k].x, &low, &high);
    if (c->x.high > c->x.low || low > high)
        return;
    if (c->x.logarithmic) {
        fit_logarithm(&c->x, 0.85 * low, 1.18 * high);
        return;
    }
    chart_axis_fit(&c->x, fmin(low, 0), high, c->counts && high < 100 ? 14 : 8);
    if (c->counts)
        c->x.high = high + 0.04 * high;
}

void chart_fit(struct chart *c)
{
    fit_x(c);
    fit_y(c, &c->y, false);
    fit_y(c, &c->right, true);
}

/* The first six are those of Okabe and Ito (2008), some darker for white paper; the next eight go
 * from violet to yellow as in viridis (van der Walt and Smith, 2015), from dark to light also in
 * grey; the last is neutral. */
const char *const chart_colours[CHART_NCOLOURS] = {
    "#0072b2", "#d55e00", "#00795a", "#a64d84", "#3f4850", "#8a6400", "#440154", "#46327e",
    "#365c8d", "#277f8e", "#1b8f73", "#3fa55c", "#86b226", "#c0a800", "#3a434b"};

static void add_style(struct buf *b, const struct chart_series *s)
{
    static const char *const styles[] = {"marks", "joined", "line", "band", "column"};
    static const char *const marks[] = {"circle", "square", "triangle", "diamond"};
    const struct { bool is; const char *word; } words[] = {
        {s->hollow, "hollow"}, {s->dashed, "dashed"}, {s->thin, "thin"}, {s->wide, "wide"},
        {s->small, "small"}, {s->right, "right"}, {s->unlisted, "unlisted"},
        {s->colour == CHART_INK, "guide"}};

    buf_addf(b, ",%s %s", styles[s->style], marks[s->mark]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].is)
            buf_addf(b, " %s", words[i].word);
}

static void add_csv_number(struct buf *b, double value)
{
    buf_add(b, ",");
    if (isfinite(value))
        buf_addf(b, "%.9g", value);
}

void chart_encode_csv(const struct chart *c, struct buf *b)
{
    buf_add(b, "series,");
    csv_add_cell(b, c->x.label);
    buf_add(b, ",axis,value,low,high,line,style,colour,tag\n");
    for (size_t i = 0; i < c->nseries; i++) {
        const struct chart_series *s = &c->series[i];
        bool column = s->style == CHART_COLUMN;
        for (size_t k = 0; k < s->count; k++) {
            const struct chart_point *p = &s->points[k];
            csv_add_cell(b, s->label);
            add_csv_number(b, p->x);
            buf_add(b, ",");
            csv_add_cell(b, s->right ? c->right.label : c->y.label);
            add_csv_number(b, column ? p->high - p->low : p->y);
            add_csv_number(b, column ? NAN : p->low);
            add_csv_number(b, column ? NAN : p->high);
            buf_addf(b, ",%zu", i + 1);
            add_style(b, s);
            buf_addf(b, ",%s", chart_colours[s->colour]);
            add_csv_number(b, p->tag ? p->tag : NAN);
            buf_add(b, "\n");
        }
    }
}

void chart_destroy(struct chart *c)
{
    for (size_t i = 0; i < c->nseries; i++)
        free(c->series[i].points);
    free(c->series);
    c->series = NULL;
    c->nseries = c->capacity = 0;
}
