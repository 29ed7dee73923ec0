/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/chart/chart_svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/report/markup/escape.h"
#include "src/plural.h"

#define WIDTH 720.0
#define HEIGHT 400.0
#define TOP 14.0
#define BOTTOM 56.0
#define SIDE 78.0      /* space beside an axis with numbers */
#define MARGIN 20.0    /* space without an axis */
#define RADIUS 4.6     /* of a mark */
#define TARGET 11.0    /* radius of the area around a mark that shows its tip */
#define LETTER 8.7     /* approximate width of a letter in a tip */

/* Returns the x coordinate at which the drawing area ends; it begins at SIDE. */
static double right_edge(const struct chart *c)
{
    return WIDTH - (c->right.label[0] ? SIDE : MARGIN);
}

static double place_x(const struct chart *c, double x)
{
    return SIDE + chart_axis_place(&c->x, x) * (right_edge(c) - SIDE);
}

static double place_y(const struct chart *c, const struct chart_series *s, double y)
{
    const struct chart_axis *a = s && s->right ? &c->right : &c->y;
    double part = chart_axis_place(a, y);

    return HEIGHT - BOTTOM - fmin(fmax(part, 0), 1) * (HEIGHT - TOP - BOTTOM);
}

static void add_svg_text(struct buf *b, double x, double y, const char *class, const char *text)
{
    buf_addf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    escape_format(b, escape_html, "%s</text>", text);
}

static void add_tic_label(struct buf *b, const struct chart_axis *a, double value, double x,
                          double y, const char *class)
{
    char text[32];

    snprintf(text, sizeof text, "%.*f", chart_axis_decimals(a, value),
             fabs(value) < a->step / 2 ? 0 : value);
    add_svg_text(b, x, y, class, text);
}

static void add_axes(const struct chart *c, struct buf *b)
{
    double bottom = HEIGHT - BOTTOM, edge = right_edge(c), middle = (TOP + bottom) / 2;

    buf_add(b, "<g class=\"axes\">");
    for (double v = NAN; chart_axis_next(&c->y, &v);) {
        double y = place_y(c, NULL, v);
        buf_addf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", SIDE, y, edge, y);
        add_tic_label(b, &c->y, v, SIDE - 8, y + 4.5, "e");
    }
    for (double v = NAN; chart_axis_next(&c->x, &v);) {
        double x = place_x(c, v);
        buf_addf(b, "<line class=\"tic\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x,
                 bottom, x, bottom + 5);
        add_tic_label(b, &c->x, v, x, bottom + 22, "m");
    }
    for (double v = NAN; c->right.label[0] && chart_axis_next(&c->right, &v);) {
        struct chart_series s = {.right = true};
        double y = place_y(c, &s, v);
        buf_addf(b, "<line class=\"tic\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", edge,
                 y, edge + 5, y);
        add_tic_label(b, &c->right, v, edge + 9, y + 4.5, "s");
    }
    buf_addf(b,
             "<line class=\"base\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/></g>\n<g "
             "class=\"names\">",
             SIDE, bottom, edge, bottom);
    add_svg_text(b, (SIDE + edge) / 2, HEIGHT - 8, "m", c->x.label);
    buf_addf(b, "<g transform=\"translate(17,%.1f) rotate(-90)\">", middle);
    add_svg_text(b, 0, 0, "m", c->y.label);
    buf_add(b, "</g>");
    if (c->right.label[0]) {
        buf_addf(b, "<g transform=\"translate(%.1f,%.1f) rotate(90)\">", WIDTH - 12, middle);
        add_svg_text(b, 0, 0, "m", c->right.label);
        buf_add(b, "</g>");
    }
    buf_add(b, "</g>\n");
}

static void add_line(const struct chart *c, const struct chart_series *s, struct buf *b)
{
    bool pen = false;

    buf_addf(b, "<path class=\"ln%s\" d=\"", s->dashed ? " dash" : "");
    for (size_t i = 0; i < s->count; i++) {
        const struct chart_point *p = &s->points[i];
        if (isfinite(p->y))
            buf_addf(b, "%c%.1f %.1f", pen ? 'L' : 'M', place_x(c, p->x), place_y(c, s, p->y));
        pen = isfinite(p->y);
    }
    buf_add(b, "\"/>");
}

static void add_band(const struct chart *c, const struct chart_series *s, struct buf *b)
{
    buf_add(b, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < s->count; i++)
        buf_addf(b, "%c%.1f %.1f", i ? 'L' : 'M', place_x(c, s->points[i].x),
                 place_y(c, s, s->points[i].high));
    for (size_t i = s->count; i-- > 0;)
        buf_addf(b, "L%.1f %.1f", place_x(c, s->points[i].x), place_y(c, s, s->points[i].low));
    buf_add(b, "Z\"/>");
}

static void add_mark(const struct chart_series *s, double x, double y, struct buf *b)
{
    const char *class = s->small ? "mk small" : s->hollow ? "mk hollow" : "mk";
    double r = s->small ? 2.6 : RADIUS;

    switch (s->mark) {
    case 1:
        buf_addf(b, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                 class, x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
        break;
    case 2:
        buf_addf(b, "<path class=\"%s\" d=\"M%.1f %.1fl%.1f %.1fh%.1fZ\"/>", class, x, y - 1.2 * r,
                 1.15 * r, 2 * r, -2.3 * r);
        break;
    case 3:
        buf_addf(b, "<path class=\"%s\" d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fZ\"/>", class,
                 x, y - 1.3 * r, 1.3 * r, 1.3 * r, -1.3 * r, 1.3 * r, -1.3 * r, -1.3 * r);
        break;
    default:
        buf_addf(b, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", class, x, y, r);
    }
}

static void add_svg_interval(const struct chart *c, const struct chart_series *s,
                             const struct chart_point *p, struct buf *b)
{
    double x = place_x(c, p->x), low = place_y(c, s, p->low), high = place_y(c, s, p->high);

    if (isfinite(p->low) && isfinite(p->high) && p->high > p->low)
        buf_addf(b, "<path class=\"bar\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh9M%.1f %.1fh9\"/>", x, low,
                 high, x - 4.5, low, x - 4.5, high);
}

static void add_marks(const struct chart *c, const struct chart_series *s, struct buf *b)
{
    for (size_t i = 0; i < s->count; i++)
        add_svg_interval(c, s, &s->points[i], b);
    for (size_t i = 0; i < s->count; i++) {
        const struct chart_point *p = &s->points[i];
        add_mark(s, place_x(c, p->x), place_y(c, s, p->y), b);
        if (p->tag)
            buf_addf(b, "<text class=\"tag\" x=\"%.1f\" y=\"%.1f\">%d</text>", place_x(c, p->x) + 8,
                     place_y(c, s, p->y) - 7, p->tag);
    }
}

/* Returns half the width of a column: 0.36 of the smallest distance between two columns, or between
 * two tics if that is smaller, but at least 2 and at most 26. */
static double half_column(const struct chart *c, const struct chart_series *s)
{
    double least = place_x(c, c->x.low + c->x.step) - SIDE;

    for (size_t i = 1; i < s->count; i++)
        least = fmin(least, place_x(c, s->points[i].x) - place_x(c, s->points[i - 1].x));
    return fmin(26, fmax(2, 0.36 * least));
}

static void add_columns(const struct chart *c, const struct chart_series *s, struct buf *b)
{
    double half = half_column(c, s);

    for (size_t i = 0; i < s->count; i++) {
        double high = place_y(c, s, s->points[i].high), low = place_y(c, s, s->points[i].low);
        buf_addf(b, "<rect class=\"col\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                 place_x(c, s->points[i].x) - half, high, 2 * half, low - high);
    }
}

static void add_svg_series(const struct chart *c, const struct chart_series *s, struct buf *b)
{
    buf_addf(b, "<g class=\"c%d\">", s->colour);
    if (s->style == CHART_LINE || s->style == CHART_JOINED)
        add_line(c, s, b);
    if (s->style == CHART_MARKS || s->style == CHART_JOINED)
        add_marks(c, s, b);
    if (s->style == CHART_BAND)
        add_band(c, s, b);
    if (s->style == CHART_COLUMN)
        add_columns(c, s, b);
    buf_add(b, "</g>\n");
}

/* Writes the lines of a tip and returns the length of the longest. */
static size_t format_tip(const struct chart *c, const struct chart_series *s,
                         const struct chart_point *p, char lines[3][160])
{
    const struct chart_axis *a = s->right ? &c->right : &c->y;
    double value = s->style == CHART_COLUMN ? p->high - p->low : p->y;
    size_t longest = 0;

    snprintf(lines[0], 160, "%s", s->label);
    if (c->counts)
        snprintf(lines[1], 160, "%.0f GPU%s", p->x, plural(p->x));
    else
        snprintf(lines[1], 160, "%s %.*f", c->x.label, c->x.decimals, p->x);
    if (s->style != CHART_COLUMN && isfinite(p->low) && isfinite(p->high))
        snprintf(lines[2], 160, "%s %.*f (%.*f to %.*f)", a->label, a->decimals, value, a->decimals,
                 p->low, a->decimals, p->high);
    else
        snprintf(lines[2], 160, "%s %.*f", a->label, a->decimals, value);
    for (int i = 0; i < 3; i++)
        longest = strlen(lines[i]) > longest ? strlen(lines[i]) : longest;
    return longest;
}

/* Adds the tip, which appears while the pointer is near x, y. */
static void add_tip(const struct chart *c, const struct chart_series *s,
                    const struct chart_point *p, double x, double y, struct buf *b)
{
    char lines[3][160];
    double width = LETTER * (double)format_tip(c, s, p, lines) + 20;
    double left = fmin(fmax(x - width / 2, 2), WIDTH - width - 2),
           top = y - 82 < 2 ? y + 14 : y - 82;

    buf_addf(
        b, "<g class=\"tip\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"68\" rx=\"5\"/>",
        left, top, width);
    for (int i = 0; i < 3; i++)
        add_svg_text(b, left + 10, top + 21 + 19 * i, i ? "" : "who", lines[i]);
    buf_add(b, "</g>");
}

static void add_target(const struct chart *c, const struct chart_series *s,
                       const struct chart_point *p, struct buf *b)
{
    double x = place_x(c, p->x), y = place_y(c, s, s->style == CHART_COLUMN ? p->high : p->y);

    buf_addf(b, "<g class=\"hot c%d\">", s->colour);
    if (s->style == CHART_COLUMN) {
        double half = half_column(c, s), low = place_y(c, s, p->low);
        buf_addf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x - half, y,
                 2 * half, low - y);
    } else {
        buf_addf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, TARGET);
    }
    add_tip(c, s, p, x, y, b);
    buf_add(b, "</g>\n");
}

static void add_targets(const struct chart *c, const struct chart_series *s, struct buf *b)
{
    for (size_t i = 0; i < s->count; i++)
        if (chart_series_lists(s, i) && (s->style == CHART_COLUMN || isfinite(s->points[i].y)))
            add_target(c, s, &s->points[i], b);
}

void chart_svg_encode(const struct chart *c, struct buf *b)
{
    buf_addf(b, "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"", WIDTH, HEIGHT);
    escape_format(b, escape_html, " aria-label=\"%s. %s\">\n", c->title, c->caption);
    add_axes(c, b);
    for (size_t i = 0; i < c->nseries; i++)
        add_svg_series(c, &c->series[i], b);
    for (size_t i = 0; i < c->nseries; i++)
        if (c->series[i].count)
            add_targets(c, &c->series[i], b);
    buf_add(b, "</svg>\n");
}

static void add_sample(const struct chart_series *s, struct buf *b)
{
    buf_add(b, "<svg viewBox=\"0 0 34 14\" aria-hidden=\"true\">");
    if (s->style == CHART_COLUMN || s->style == CHART_BAND)
        buf_addf(b, "<rect class=\"%s\" x=\"8\" y=\"1\" width=\"18\" height=\"12\"/>",
                 s->style == CHART_BAND ? "band" : "col");
    if (s->style == CHART_LINE || s->style == CHART_JOINED)
        buf_addf(b, "<path class=\"ln%s\" d=\"M1 7H33\"/>", s->dashed ? " dash" : "");
    if (s->style == CHART_MARKS || s->style == CHART_JOINED)
        add_mark(s, 17, 7, b);
    buf_add(b, "</svg>");
}

void chart_svg_encode_key(const struct chart *c, struct buf *b)
{
    buf_add(b, "<ul class=\"key\">\n");
    for (size_t i = 0; i < c->nseries; i++) {
        if (c->series[i].unlisted || !c->series[i].count)
            continue;
        buf_addf(b, "<li class=\"c%d\">", c->series[i].colour);
        add_sample(&c->series[i], b);
        escape_format(b, escape_html, "<span>%s</span></li>\n", c->series[i].label);
    }
    buf_add(b, "</ul>\n");
}
