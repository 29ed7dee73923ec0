/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/chart.h"

#include <math.h>

#include "launcher/report/document.h"

#define WIDTH 420.0
#define HEIGHT 262.0   /* without the key */
#define TOP 12.0
#define BOTTOM 222.0   /* the y coordinate of the x axis */
#define NAME 20.0      /* space for the name of a y axis */
#define MARGIN 14.0    /* space without an axis */
#define RADIUS 3.6     /* of a mark */
#define ASIDE 6.0      /* how far left of its count a single run is drawn */
#define TARGET 9.0     /* radius of the area around a mark that shows its tip */
#define LETTER 7.7     /* width of a digit of 12 px, at most */
#define KEY_LETTER 7.0 /* of a letter of the key, of 11.5 px */
#define KEY_LINE 17.0
#define KEY_LEFT 6.0
#define SAMPLE 30.0    /* width of a sample in the key, with the space behind it */
#define COLUMN_CM 8.9

const char chart_svg_style[] =
    ".chart text{font-size:12px;fill:currentColor}.chart .e{text-anchor:end}"
    ".chart .m{text-anchor:middle}.chart .key{font-size:11.5px}"
    ".chart .tag{font-size:11px}.axes line,.ln,.bar{stroke:currentColor}.axes line{stroke-width:.8}"
    ".ln,.bar{fill:none;stroke-width:2;stroke-linejoin:round}.bar{stroke-width:1.3}"
    ".dash{stroke-dasharray:5 4}.c14 .ln{stroke-width:1}"
    ".thin{stroke-width:1.2}.thin.dash{stroke-dasharray:3 2}"
    ".ln.wide{stroke-width:4.5;opacity:.45}.ln.wide.dash{stroke-dasharray:6 4}"
    ".mk,.col,.band{fill:currentColor}.mk{stroke:currentColor;stroke-width:1.4}"
    ".hollow{fill:#fff}.small{stroke:none;opacity:.75}.band{opacity:.15}.col{stroke:#fff}\n";

struct drawing {
    const struct chart *c;
    struct buf *b;
    double left, right; /* x coordinates of the ends of the x axis */
};

static void format_tic(char dst[32], const struct chart_axis *a, double value)
{
    snprintf(dst, 32, "%.*f", chart_axis_decimals(a, value),
             fabs(value) < a->step / 2 ? 0 : value);
}

/* Returns the space beside an axis for its name and numbers. */
static double side_of(const struct chart_axis *a)
{
    size_t longest = 0;
    char text[32];

    for (double v = NAN; chart_axis_next(a, &v);) {
        format_tic(text, a, v);
        longest = strlen(text) > longest ? strlen(text) : longest;
    }
    return NAME + LETTER * (double)longest + 8;
}

static double place_x(const struct drawing *d, double x)
{
    return d->left + chart_axis_place(&d->c->x, x) * (d->right - d->left);
}

static double place_mark(const struct drawing *d, const struct chart_series *s,
                         const struct chart_point *p)
{
    return place_x(d, p->x) - (s->small ? ASIDE : 0);
}

static double place_y(const struct drawing *d, bool right, double y)
{
    double part = chart_axis_place(right ? &d->c->right : &d->c->y, y);

    return BOTTOM - fmin(fmax(part, 0), 1) * (BOTTOM - TOP);
}

static void add_svg_text(struct buf *b, double x, double y, const char *class, const char *text)
{
    buf_addf(b, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
    if (*class)
        buf_addf(b, " class=\"%s\"", class);
    buf_add_escaped(b, escape_html, ">%s</text>", text);
}

static void add_svg_line(struct buf *b, const char *group, double x1, double y1, double x2,
                         double y2)
{
    buf_addf(b, "<line %sx1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", group, x1, y1, x2, y2);
}

#define SOFT "class=\"soft\" color=\"#55606b\" "
#define INK "class=\"ink\" color=\"#1a2027\""
#define GRID "class=\"grid\" color=\"#e0e5ea\" "

/* Adds the tics of the x axis. A number that would touch the previous one is omitted. */
static void add_x_tics(const struct drawing *d)
{
    const struct chart_axis *a = &d->c->x;
    double free_from = 0;
    char text[32];

    for (double v = NAN; chart_axis_next(a, &v);) {
        double x = place_x(d, v);
        format_tic(text, a, v);
        double half = LETTER * (double)strlen(text) / 2;
        add_svg_line(d->b, "", x, BOTTOM, x, BOTTOM + 4);
        if (x - half < free_from || x + half > WIDTH)
            continue;
        add_svg_text(d->b, x, BOTTOM + 17, "m", text);
        free_from = x + half + 5;
    }
}

static void add_axis_name(const struct drawing *d, double x, int angle, const char *name)
{
    buf_addf(d->b, "<g transform=\"translate(%.1f,%.1f) rotate(%d)\">", x, (TOP + BOTTOM) / 2,
             angle);
    add_svg_text(d->b, 0, 0, "m", name);
    buf_add(d->b, "</g>");
}

static void add_axes(const struct drawing *d)
{
    const struct chart *c = d->c;
    char text[32];

    buf_add(d->b, "<g class=\"axes\"><g " SOFT ">");
    for (double v = NAN; chart_axis_next(&c->y, &v);) {
        double y = place_y(d, false, v);
        add_svg_line(d->b, GRID, d->left, y, d->right, y);
        format_tic(text, &c->y, v);
        add_svg_text(d->b, d->left - 6, y + 4, "e", text);
    }
    add_x_tics(d);
    for (double v = NAN; c->right.label[0] && chart_axis_next(&c->right, &v);) {
        double y = place_y(d, true, v);
        add_svg_line(d->b, "", d->right, y, d->right + 4, y);
        format_tic(text, &c->right, v);
        add_svg_text(d->b, d->right + 7, y + 4, "", text);
    }
    add_svg_line(d->b, "", d->left, BOTTOM, d->right, BOTTOM);
    buf_add(d->b, "</g></g>\n<g " INK ">");
    add_svg_text(d->b, (d->left + d->right) / 2, HEIGHT - 6, "m", c->x.label);
    add_axis_name(d, 14, -90, c->y.label);
    if (c->right.label[0])
        add_axis_name(d, WIDTH - 12, 90, c->right.label);
    buf_add(d->b, "</g>\n");
}

static const char *class_of_line(const struct chart_series *s)
{
    static const char *const classes[3][2] = {
        {"ln", "ln dash"}, {"ln thin", "ln thin dash"}, {"ln wide", "ln wide dash"}};

    return classes[s->wide ? 2 : s->thin][s->dashed];
}

static void add_line(const struct drawing *d, const struct chart_series *s)
{
    bool pen = false;

    buf_addf(d->b, "<path class=\"%s\" d=\"", class_of_line(s));
    for (size_t i = 0; i < s->count; i++) {
        const struct chart_point *p = &s->points[i];
        if (isfinite(p->y))
            buf_addf(d->b, "%c%.1f %.1f", pen ? 'L' : 'M', place_x(d, p->x),
                     place_y(d, s->right, p->y));
        pen = isfinite(p->y);
    }
    buf_add(d->b, "\"/>");
}

static void add_band(const struct drawing *d, const struct chart_series *s)
{
    buf_add(d->b, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < s->count; i++)
        buf_addf(d->b, "%c%.1f %.1f", i ? 'L' : 'M', place_x(d, s->points[i].x),
                 place_y(d, s->right, s->points[i].high));
    for (size_t i = s->count; i-- > 0;)
        buf_addf(d->b, "L%.1f %.1f", place_x(d, s->points[i].x),
                 place_y(d, s->right, s->points[i].low));
    buf_add(d->b, "Z\"/>");
}

static void add_mark(const struct chart_series *s, double x, double y, struct buf *b)
{
    const char *class = s->small ? "mk small" : s->hollow ? "mk hollow" : "mk";
    double r = s->small ? 2.5 : RADIUS;

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

static void add_marks(const struct drawing *d, const struct chart_series *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct chart_point *p = &s->points[i];
        double x = place_x(d, p->x), low = place_y(d, s->right, p->low),
               high = place_y(d, s->right, p->high);
        if (isfinite(p->low) && isfinite(p->high) && p->high > p->low)
            buf_addf(d->b, "<path class=\"bar\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh7M%.1f %.1fh7\"/>", x,
                     low, high, x - 3.5, low, x - 3.5, high);
    }
    for (size_t i = 0; i < s->count; i++)
        add_mark(s, place_mark(d, s, &s->points[i]), place_y(d, s->right, s->points[i].y), d->b);
}

/* Returns half the width of a column: 0.36 of the smallest distance between two columns, or
 * between two tics if that is smaller, but at least 2 and at most 16. */
static double half_column(const struct drawing *d, const struct chart_series *s)
{
    double least = place_x(d, d->c->x.low + d->c->x.step) - d->left;

    for (size_t i = 1; i < s->count; i++)
        least = fmin(least, place_x(d, s->points[i].x) - place_x(d, s->points[i - 1].x));
    return fmin(16, fmax(2, 0.36 * least));
}

static void add_columns(const struct drawing *d, const struct chart_series *s)
{
    double half = half_column(d, s);

    for (size_t i = 0; i < s->count; i++) {
        double high = place_y(d, s->right, s->points[i].high),
               low = place_y(d, s->right, s->points[i].low);
        buf_addf(d->b, "<rect class=\"col\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                 place_x(d, s->points[i].x) - half, high, 2 * half, low - high);
    }
}

/* From the back to the front. What is not a measurement lies over the lines, which would hide
 * it. */
enum layer { LAYER_AREAS, LAYER_LINES, LAYER_GUIDES, LAYER_MARKS, LAYER_COUNT };

static bool is_in_layer(const struct chart_series *s, enum layer layer)
{
    bool line = s->style == CHART_LINE || s->style == CHART_JOINED;

    switch (layer) {
    case LAYER_AREAS:
        return s->style == CHART_BAND || s->style == CHART_COLUMN;
    case LAYER_LINES:
    case LAYER_GUIDES:
        return line && (s->colour == CHART_INK) == (layer == LAYER_GUIDES);
    default:
        return s->style == CHART_MARKS || s->style == CHART_JOINED;
    }
}

static void add_layer(const struct drawing *d, enum layer layer)
{
    for (size_t i = 0; i < d->c->nseries; i++) {
        const struct chart_series *s = &d->c->series[i];
        if (!s->count || !is_in_layer(s, layer))
            continue;
        buf_addf(d->b, "<g class=\"c%d\" color=\"%s\">", s->colour, chart_colours[s->colour]);
        if (layer == LAYER_MARKS)
            add_marks(d, s);
        else if (layer == LAYER_AREAS)
            (s->style == CHART_BAND ? add_band : add_columns)(d, s);
        else
            add_line(d, s);
        buf_add(d->b, "</g>\n");
    }
}

struct box {
    double left, top, right, bottom;
};

/* Returns whether the box lies within the axes and touches none of the others. */
static bool is_free(const struct drawing *d, const struct box *boxes, size_t n,
                    const struct box *box)
{
    for (size_t i = 0; i < n; i++)
        if (box->left < boxes[i].right && boxes[i].left < box->right &&
            box->top < boxes[i].bottom && boxes[i].top < box->bottom)
            return false;
    return box->left > d->left && box->right < d->right && box->top > 0 && box->bottom < BOTTOM;
}

/* Adds the number beside the mark at x, y, in the first of four corners where it touches no box,
 * and its box to boxes; nowhere if there is none. */
static void add_tag(const struct drawing *d, int tag, double x, double y, struct box *boxes,
                    size_t *n)
{
    char text[16];
    double width = LETTER * (double)snprintf(text, sizeof text, "%d", tag);

    for (int corner = 0; corner < 4; corner++) {
        double left = corner & 1 ? x - 5 - width : x + 5, base = corner & 2 ? y + 14 : y - 4;
        struct box box = {left, base - 10, left + width, base + 1};
        if (!is_free(d, boxes, *n, &box))
            continue;
        boxes[(*n)++] = box;
        add_svg_text(d->b, left, base, "tag", text);
        return;
    }
}

static void add_tags(const struct drawing *d)
{
    size_t npoints = 0, n = 0;
    struct box *boxes;

    for (size_t i = 0; i < d->c->nseries; i++)
        for (size_t k = 0; k < d->c->series[i].count; k++)
            npoints += d->c->series[i].points[k].tag != 0;
    boxes = npoints ? calloc(2 * npoints, sizeof *boxes) : NULL;
    d->b->failed |= npoints && !boxes;
    buf_add(d->b, boxes ? "<g " INK ">" : "");
    for (int pass = 0; boxes && pass < 2; pass++)
        for (size_t i = 0; i < d->c->nseries; i++) {
            const struct chart_series *s = &d->c->series[i];
            for (size_t k = 0; k < s->count; k++) {
                double x = place_x(d, s->points[k].x), y = place_y(d, s->right, s->points[k].y);
                if (s->points[k].tag && pass == 0)
                    boxes[n++] = (struct box){x - 4, y - 4, x + 4, y + 4};
                else if (s->points[k].tag)
                    add_tag(d, s->points[k].tag, x, y, boxes, &n);
            }
        }
    buf_add(d->b, boxes ? "</g>\n" : "");
    free(boxes);
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
static void add_tip(const struct drawing *d, const struct chart_series *s,
                    const struct chart_point *p, double x, double y)
{
    char lines[3][160];
    double width = LETTER * (double)format_tip(d->c, s, p, lines) + 16;
    double left = fmax(fmin(x - width / 2, WIDTH - width - 2), 2),
           top = y - 68 < 2 ? y + 12 : y - 68;

    buf_addf(d->b, "<g class=\"tip\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"56\" "
             "rx=\"4\"/>", left, top, width);
    for (int i = 0; i < 3; i++)
        add_svg_text(d->b, left + 8, top + 17 + 16 * i, i ? "" : "who", lines[i]);
    buf_add(d->b, "</g>");
}

static void add_target(const struct drawing *d, const struct chart_series *s,
                       const struct chart_point *p)
{
    double x = place_mark(d, s, p), y = place_y(d, s->right, s->style == CHART_COLUMN ? p->high
                                                                                     : p->y);

    buf_addf(d->b, "<g class=\"hot c%d\">", s->colour);
    if (s->style == CHART_COLUMN) {
        double half = half_column(d, s), low = place_y(d, s->right, p->low);
        buf_addf(d->b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x - half, y,
                 2 * half, low - y);
    } else {
        buf_addf(d->b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, TARGET);
    }
    add_tip(d, s, p, x, y);
    buf_add(d->b, "</g>\n");
}

/* Adds the sample of a series in the key, around the height y. */
static void add_sample(struct buf *b, const struct chart_series *s, double x, double y)
{
    if (s->style == CHART_COLUMN || s->style == CHART_BAND)
        buf_addf(b, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"10\"/>",
                 s->style == CHART_BAND ? "band" : "col", x + 5, y - 5);
    if (s->style == CHART_LINE || s->style == CHART_JOINED)
        buf_addf(b, "<path class=\"%s\" d=\"M%.1f %.1fh24\"/>", class_of_line(s), x, y);
    if (s->style == CHART_MARKS || s->style == CHART_JOINED)
        add_mark(s, x + 12, y, b);
}

/* Returns the bytes of text that fit a line of the key, and sets *width. Lines end at blanks where
 * that is possible, and never within a character. */
static size_t fit_line(const char *text, double *width)
{
    size_t at = 0, blank = 0, n = 0, most = (size_t)((WIDTH - KEY_LEFT - SAMPLE) / KEY_LETTER);

    for (; text[at]; at++) {
        bool starts = ((unsigned char)text[at] & 0xc0) != 0x80;
        if (starts && n == most)
            break;
        blank = text[at] == ' ' ? at : blank;
        n += starts;
    }
    if (text[at] && blank)
        at = blank;
    *width = KEY_LETTER * (double)n;
    return at;
}

/* Where the next entry of the key begins. */
struct key_place {
    double x, y;
};

static void add_key_entry(struct buf *b, const struct chart_series *s, struct key_place *at)
{
    size_t nlines = 0;
    double width = 0;

    for (const char *text = s->label; *text; nlines++) {
        size_t n = fit_line(text, &width);
        char line[sizeof s->label];
        if (nlines || (at->x > KEY_LEFT && at->x + SAMPLE + width > WIDTH)) {
            at->x = KEY_LEFT;
            at->y += KEY_LINE;
        }
        if (nlines == 0) {
            buf_addf(b, "<g class=\"c%d\" color=\"%s\">", s->colour, chart_colours[s->colour]);
            add_sample(b, s, at->x, at->y - 4);
            buf_add(b, "</g><g " INK ">");
        }
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        add_svg_text(b, at->x + SAMPLE, at->y, "key", line);
        text += n + (text[n] == ' ');
    }
    buf_add(b, nlines ? "</g>\n" : "");
    at->x = nlines > 1 ? WIDTH : at->x + SAMPLE + width + 14;
}

/* Adds a list of the series below the drawing. Returns its height. */
static double add_key(struct buf *b, const struct chart *c)
{
    struct key_place at = {KEY_LEFT, HEIGHT + 12};

    for (size_t i = 0; i < c->nseries; i++)
        if (!c->series[i].unlisted && c->series[i].count)
            add_key_entry(b, &c->series[i], &at);
    return at.y + 6 - HEIGHT;
}

static double add_drawing(const struct chart *c, struct buf *b, bool targets)
{
    struct drawing d = {c, b, side_of(&c->y),
                        WIDTH - (c->right.label[0] ? side_of(&c->right) : MARGIN)};
    double key;

    add_axes(&d);
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        add_layer(&d, layer);
    add_tags(&d);
    key = add_key(b, c);
    for (size_t i = 0; targets && i < c->nseries; i++)
        for (size_t k = 0; k < c->series[i].count; k++)
            if (chart_series_lists(&c->series[i], k) &&
                (c->series[i].style == CHART_COLUMN || isfinite(c->series[i].points[k].y)))
                add_target(&d, &c->series[i], &c->series[i].points[k]);
    return HEIGHT + key;
}

static void end_drawing(struct buf *b, struct buf *inner)
{
    buf_addf(b, "%s</svg>\n", inner->data ? inner->data : "");
    b->failed |= inner->failed;
    buf_destroy(inner);
}

void chart_svg_encode(const struct chart *c, struct buf *b)
{
    struct buf inner = {0};
    double height = add_drawing(c, &inner, true);

    buf_addf(b, "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"", WIDTH, height);
    buf_add_escaped(b, escape_html, " aria-label=\"%s. %s\">\n", c->title, c->caption);
    end_drawing(b, &inner);
}

void chart_svg_encode_file(const struct chart *c, struct buf *b)
{
    struct buf inner = {0};
    double height = add_drawing(c, &inner, false);

    buf_addf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- " CHART_SVG_MARK " -->\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"%.2fcm\" "
             "height=\"%.2fcm\" viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Helvetica, "
             "Arial, sans-serif\">\n", COLUMN_CM, COLUMN_CM * height / WIDTH, WIDTH, height);
    buf_add_escaped(b, escape_html, "<title>%s</title>\n<desc>%s</desc>\n<style>", c->title,
                  c->caption);
    buf_add(b, chart_svg_style);
    buf_add(b, "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    end_drawing(b, &inner);
}
