/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/html.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/report/chart/chart_svg.h"
#include "launcher/report/examples.h"
#include "launcher/report/markup/escape.h"
#include "launcher/report/markup/page_style.h"
#include "launcher/report/tables.h"
#include "src/plural.h"

#define FIRST_CAVEATS 3
#define OPEN_RUNS 40 /* up to this number, the list of runs is shown unfolded */

void html_add_head(struct buf *b, const char *more, const char *title, const char *topic,
                   const char *heading)
{
    buf_addf(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "img-src data:; style-src 'unsafe-inline'\">\n%s", more);
    escape_format(b, escape_html, "<title>%s: %s</title>\n<style>\n", title, topic);
    buf_add(b, chart_svg_style);
    buf_add(b, page_style);
    escape_format(b, escape_html, "</style>\n</head>\n<body>\n<header>\n<h1>%s: %s</h1>\n", title,
                  heading);
}

static void add_html_head(struct buf *b, const struct report *r)
{
    html_add_head(b, "", r->title, "scaling report", "how many GPUs are worth it?");
    buf_addf(b, "<p class=\"soft\">%zu of %zu runs have a result. Made by unetctl %s on %s.</p>\n"
             "</header>\n<main>\n",
             report_count_done(r), report_count_runs(r), PACKAGE_VERSION, r->created);
}

void html_add_tile(struct buf *b, const char *name, const char *value, const char *more)
{
    escape_format(b, escape_html, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n", name,
                  value, more);
}

static void add_quality_tile(struct buf *b, const struct series *s, const struct decision *d)
{
    double iou = d->best->q[QUANTITY_QUALITY].mean, base = d->base->q[QUANTITY_QUALITY].mean;
    char value[64], more[96];

    if (!isfinite(iou))
        return;
    snprintf(value, sizeof value, "%.*f", s->decimals, iou);
    if (d->best == d->base)
        snprintf(more, sizeof more, "base case");
    else
        snprintf(more, sizeof more, "%s; %.*f with %d GPU%s",
                 quality_state_name(&d->quality[d->best - s->points]), s->decimals, base,
                 d->base->gpus, plural(d->base->gpus));
    html_add_tile(b, s->quality, value, more);
}

/* Adds units of work per second, where the cost of a whole run is unknown. */
static void add_rate_tile(struct buf *b, const struct series *s, const struct decision *d)
{
    char name[48], value[64], more[96];

    if (!isfinite(d->best->q[QUANTITY_RATE].median))
        return;
    double rate = series_rate(s, d->best->q[QUANTITY_RATE].median, name, sizeof name);
    double base = series_rate(s, d->base->q[QUANTITY_RATE].median, name, sizeof name);
    snprintf(value, sizeof value, rate < 1000 ? "%.3g" : "%.0f", rate);
    snprintf(more, sizeof more, base < 1000 ? "%.3g in the base case" : "%.0f in the base case",
             base);
    html_add_tile(b, name, value, more);
}

/* Adds the main numbers of the verdict as tiles. */
static void add_tiles(struct buf *b, const struct series *s, const struct decision *d)
{
    const struct interval *known = &d->speedup.interval;
    char value[64], more[96];

    buf_add(b, "<dl class=\"tiles\">\n");
    snprintf(value, sizeof value, "%d GPU%s", d->best->gpus, plural(d->best->gpus));
    snprintf(more, sizeof more, "of %d to %d measured", d->base->gpus,
             s->points[s->npoints - 1].gpus);
    html_add_tile(b,
             d->unlearnt || d->best != d->use         ? "by time, up to"
             : d->decided || d->use != d->base ? "use"
                                               : "undecided",
             value, more);
    snprintf(value, sizeof value, "%.2f\303\227", d->speedup.value);
    if (interval_is_known(known) && d->best != d->base)
        snprintf(more, sizeof more,
                 known->method == INTERVAL_EPOCHS ? "%.2f to %.2f by %ss of single runs"
                                                  : "95 %% interval %.2f to %.2f",
                 known->low, known->high, series_interval(s));
    else if (!isnan(d->speedup.least) && d->best != d->base)
        snprintf(more, sizeof more, "%.2f to %.2f between single runs", d->speedup.least,
                 d->speedup.most);
    else
        snprintf(more, sizeof more, "of %.3g s per %s",
                 d->base->q[QUANTITY_STEADY_EPOCH].median, series_interval(s));
    html_add_tile(b, "speed-up", value, more);
    snprintf(value, sizeof value, "%.0f %%", 100 * d->efficiency.value);
    snprintf(more, sizeof more, "%.0f %% of the whole %s",
             100 * d->best->efficiency[QUANTITY_TRAINING].value, s->stepped ? "run" : "training");
    html_add_tile(b, "efficiency", value,
             isfinite(d->best->efficiency[QUANTITY_TRAINING].value) ? more
             : s->stepped ? "in steady intervals" : "in steady epochs");
    add_quality_tile(b, s, d);
    snprintf(value, sizeof value, "%.3g", d->best->gpu_hours);
    snprintf(more, sizeof more, "a run; %.3g in the base case", d->base->gpu_hours);
    if (isfinite(d->best->gpu_hours) && isfinite(d->base->gpu_hours))
        html_add_tile(b, "GPU-hours", value, more);
    else
        add_rate_tile(b, s, d);
    buf_add(b, "</dl>\n");
}

static void add_html_verdict(struct buf *b, const struct report *r, size_t i)
{
    const struct report_series *s = &r->series[i];

    buf_addf(b, "<section class=\"verdict\" aria-labelledby=\"verdict-%zu\">\n"
             "<h2 id=\"verdict-%zu\">", i, i);
    escape_format(b, escape_html, "%s</h2>\n", s->words.headline);
    if (s->as->series.npoints > 1)
        add_tiles(b, &s->as->series, &s->as->decision);
    buf_add(b, "</section>\n");
}

/* Returns line n of text, allocated, or NULL if there is none. */
static char *line_of(const char *text, size_t n)
{
    for (; n && *text; n--) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return *text ? strndup(text, strcspn(text, "\n")) : NULL;
}

static size_t count_caveats(const struct report *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->nseries; i++)
        for (const char *p = r->series[i].words.caveats; *p; p++)
            n += *p == '\n';
    return n;
}

static bool is_among(const char *line, char *const *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(lines[i], line) == 0)
            return true;
    return false;
}

/* Adds the most severe caveats of all series, each once, at most FIRST_CAVEATS. */
static void add_first_caveats(struct buf *b, const struct report *r)
{
    char *shown[FIRST_CAVEATS];
    size_t nshown = 0;

    for (size_t n = 0; n < FIRST_CAVEATS; n++)
        for (size_t i = 0; i < r->nseries && nshown < FIRST_CAVEATS; i++) {
            char *line = line_of(r->series[i].words.caveats, n);
            if (!line || is_among(line, shown, nshown)) {
                free(line);
                continue;
            }
            buf_add(b, nshown ? "" : "<div class=\"caveats\">\n<p><strong>But</strong></p>\n<ul>\n");
            buf_add(b, "<li>");
            if (r->nseries > 1)
                escape_format(b, escape_html, "%s: ", r->series[i].label);
            escape_format(b, escape_html, "%s</li>\n", line);
            shown[nshown++] = line;
        }
    buf_add(b, nshown ? "</ul>\n</div>\n" : "");
    for (size_t i = 0; i < nshown; i++)
        free(shown[i]);
}

static void add_paragraphs(struct buf *b, const char *title, const char *lines)
{
    if (!lines || !*lines)
        return;
    escape_format(b, escape_html, "<h3>%s</h3>\n", title);
    escape_lines(b, escape_html, lines, "<p>", "</p>\n");
}

/* Adds all that the verdict on a series rests on. */
static void add_grounds(struct buf *b, const struct report *r, size_t i)
{
    const struct words *w = &r->series[i].words;

    escape_format(b, escape_html, r->nseries > 1 ? "<section class=\"grounds\">\n<h2>%s</h2>\n"
                                                 : "<section class=\"grounds\">\n"
                                                   "<h2>What the verdict rests on</h2>\n",
                  r->series[i].label);
    add_paragraphs(b, "Quality, and what is undecided", w->evidence);
    for (enum words_section k = 0; k < WORDS_NSECTIONS; k++) {
        char *lines = words_section(w, k);
        b->failed |= !lines;
        add_paragraphs(b, words_section_title(k), lines);
        free(lines);
    }
    if (count_caveats(r) > FIRST_CAVEATS)
        add_paragraphs(b, "What weakens it", w->caveats);
    buf_add(b, "</section>\n");
}

static void add_differences(struct buf *b, const struct report *r)
{
    if (!*r->differences)
        return;
    buf_add(b, "<section class=\"verdict\" aria-labelledby=\"differences\">\n"
               "<h2 id=\"differences\">Side by side</h2>\n");
    escape_lines(b, escape_html, r->differences, "<p>", "</p>\n");
    buf_add(b, "</section>\n");
}

static void add_problems(struct buf *b, const struct report *r)
{
    if (!*r->problems)
        return;
    buf_add(b, "<section class=\"problems\" aria-labelledby=\"problems\">\n"
               "<h2 id=\"problems\">Left out</h2>\n<p>These are in no number below.</p>\n<ul>\n");
    escape_lines(b, escape_html, r->problems, "<li>", "</li>\n");
    buf_add(b, "</ul>\n</section>\n");
}

/* Adds how to read the figure, and a table of the values that it shows where the mouse points, for
 * readers who use a keyboard or a screen reader. On the first screen both are folded. */
static void add_caption(struct buf *b, const struct chart *c, bool folded)
{
    struct table t;

    table_init(&t, "Values of: %s", c->title);
    for (size_t i = 0; i < c->nseries; i++) {
        const struct chart_series *s = &c->series[i];
        int decimals = s->right ? c->right.decimals : c->y.decimals;
        bool column = s->style == CHART_COLUMN;
        for (size_t k = 0; k < s->count; k++) {
            const struct chart_point *p = &s->points[k];
            if (!chart_series_lists(s, k))
                continue;
            table_add_text(&t, "series", "%s", s->label);
            table_add_number(&t, c->x.label, p->x, c->x.decimals);
            table_add_number(&t, "value", column ? p->high - p->low : p->y, decimals);
            table_add_number(&t, "low", column ? NAN : p->low, decimals);
            table_add_number(&t, "high", column ? NAN : p->high, decimals);
        }
    }
    if (!folded)
        escape_format(b, escape_html, "<figcaption>%s</figcaption>\n", c->caption);
    buf_addf(b, "<details><summary>%s</summary>\n",
             folded ? "How to read it, and its values" : "Values");
    if (folded)
        escape_format(b, escape_html, "<p class=\"soft\">%s</p>\n", c->caption);
    table_append(&t, table_encode_html, b);
    buf_add(b, "</details>\n");
}

/* Where a figure stands on the page. */
enum place { PLACE_FIRST, PLACE_LEARNING, PLACE_REST };

static enum place place_of(const struct chart *c)
{
    if (strcmp(c->name, "speedup") == 0 || strcmp(c->name, "iou") == 0 ||
        strcmp(c->name, "quality_by_gpus") == 0)
        return PLACE_FIRST;
    return strncmp(c->name, "loss", 4) == 0 || strncmp(c->name, "quality", 7) == 0
               ? PLACE_LEARNING
               : PLACE_REST;
}

void html_add_figure(struct buf *b, const struct chart *c, bool folded)
{
    escape_format(b, escape_html, "<figure>\n<h3>%s</h3>\n", c->title);
    chart_svg_encode(c, b);
    add_caption(b, c, folded);
    buf_add(b, "</figure>\n");
}

static void add_html_figures(struct buf *b, const struct figures *f, enum place place,
                             const char *title)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (place_of(&f->list[i]) != place)
            continue;
        if (n++ == 0)
            buf_addf(b, "%s<div class=\"figures%s\">\n", title, *title ? "" : " first");
        html_add_figure(b, &f->list[i], place == PLACE_FIRST);
    }
    buf_add(b, n ? "</div>\n" : "");
}

static void add_files_of_figures(struct buf *b, const struct figures *f)
{
    buf_add(b, "<p class=\"soft\">Point at a mark to see its value, or open the values below it. "
               "figures/ has the same figures as SVG with their numbers as CSV");
    if (*f->why_not)
        escape_format(b, escape_html, "; there are no PDF and PNG files of them: %s.</p>\n",
                      f->why_not);
    else
        buf_add(b, ", and as PDF and PNG.</p>\n");
}

static void add_html_runs(struct buf *b, const struct report *r)
{
    size_t nruns = report_count_runs(r);
    struct table t;

    buf_addf(b, "<h2>Runs</h2>\n<details%s><summary>All %zu runs</summary>\n",
             nruns <= OPEN_RUNS ? " open" : "", nruns);
    for (size_t i = 0; i < r->nsources; i++) {
        tables_fill_runs(&t, &r->sources[i].results, HTML_MAX_RUNS);
        table_append(&t, table_encode_html, b);
        tables_fill_software(&t, &r->sources[i].results);
        table_append(&t, table_encode_html, b);
    }
    buf_add(b, "</details>\n");
}

static void add_definition(struct buf *b, const char *name, const char *text)
{
    escape_format(b, escape_html, "<dt>%s</dt><dd>%s</dd>\n", name, text);
}

/* Adds the rules as a list, because a table would leave their sentences little width on a phone. */
static void add_rules(struct buf *b, const struct report *r)
{
    buf_add(b, "<h2>Rules of scientific benchmarking</h2>\n<p class=\"soft\">The twelve rules of "
               "Hoefler and Belli (SC 2015), as this report meets them.</p>\n"
               "<dl class=\"words\">\n");
    for (int i = 0; i < RULES_COUNT; i++) {
        const struct rule *rule = &r->analysis.rules[i];
        char name[200];
        snprintf(name, sizeof name, "%d. %s: %s", rule->number, rule_state_name(rule->state),
                 rule->text);
        add_definition(b, name, rule->why);
    }
    buf_add(b, "</dl>\n");
}

static bool has_epochs(const struct report *r)
{
    for (size_t i = 0; i < r->nseries; i++)
        if (!r->series[i].as->series.stepped)
            return true;
    return false;
}

/* Returns whether q means what its definition says in some series. Many are about images and
 * epochs. */
static bool is_defined(const struct report *r, enum quantity q)
{
    bool share = false, known = false;

    for (size_t i = 0; i < r->nseries; i++) {
        const struct series *s = &r->series[i].as->series;
        share |= s->is_share;
        for (size_t k = 0; k < s->npoints; k++)
            known |= s->points[k].q[q].count > 0;
    }
    if (q > QUANTITY_ENERGY)
        return known;
    if (q >= QUANTITY_QUALITY && q <= QUANTITY_DICE)
        return share && has_epochs(r);
    return has_epochs(r) || q == QUANTITY_STARTUP || q == QUANTITY_WHOLE || q == QUANTITY_ENERGY;
}

static void add_definitions(struct buf *b, const struct report *r)
{
    buf_add(b, "<h2>How these numbers are made</h2>\n<dl class=\"words\">\n");
    add_definition(
        b, "speed-up",
        "Time of the base case, the smallest number of GPUs measured, divided by the time with N. "
        "Times of several runs are summarized first (median), then divided.");
    add_definition(b, "base case", "The smallest number of GPUs measured, or that of --base.");
    add_definition(b, "within reach by time",
                   "Numbers of GPUs whose measured efficiency reaches the rule's threshold, while "
                   "the runs do not show that it does, or that quality holds.");
    add_definition(b, "efficiency",
                   "Speed-up divided by the ideal, N over the base case's number of GPUs.");
    for (int q = 0; q < QUANTITY_COUNT; q++)
        if (is_defined(r, (enum quantity)q))
            add_definition(b, quantity_name((enum quantity)q),
                           quantity_definition((enum quantity)q));
    if (!has_epochs(r))
        add_definition(b, "steady interval",
                       "The median of the times between two rows of a run's log after warming up: "
                       "without the first, and without those after it that are slow (change-point "
                       "rule of doc/SCALING.md). All are for the same work where it is known.");
    buf_add(b, "</dl>\n");
}

char *html_encode(const struct report *r, const struct figures *f)
{
    struct buf b = {0};

    add_html_head(&b, r);
    for (size_t i = 0; i < r->nseries; i++)
        add_html_verdict(&b, r, i);
    add_html_figures(&b, f, PLACE_FIRST, "");
    add_first_caveats(&b, r);
    for (size_t i = 0; i < r->nseries; i++)
        if (r->series[i].as->series.npoints > 1)
            add_grounds(&b, r, i);
    escape_format(&b, escape_html, "<p class=\"soft\">Rule: %s</p>\n", r->rule);
    add_differences(&b, r);
    add_problems(&b, r);
    add_html_figures(&b, f, PLACE_LEARNING, "<h2>Learning</h2>\n");
    examples_add(&b, r);
    add_html_figures(&b, f, PLACE_REST, "<h2>Time and cost</h2>\n");
    add_files_of_figures(&b, f);
    buf_add(&b, "<h2>Numbers</h2>\n");
    tables_add(&b, r, table_encode_html);
    add_rules(&b, r);
    add_html_runs(&b, r);
    add_definitions(&b, r);
    buf_add(&b, "</main>\n<footer>The same as text: report.md; for papers: tables.tex and "
                "figures/; for programs: report.json, results.csv and, for Extra-P, "
                "extra-p.json.</footer>\n</body>\n</html>\n");
    return buf_steal(&b);
}
