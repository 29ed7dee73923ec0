/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher/report/markup/escape.h"
#include "launcher/report/paragraph.h"
#include "launcher/report/tables.h"

#define MIN_COLUMNS 40
#define MAX_COLUMNS 160
#define CHART_MARGIN 34 /* columns for the count before a bar and the numbers after it */

static int columns_of_stdout(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int n = columns ? atoi(columns) : 0;

    if (n <= 0)
        n = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    return n < MIN_COLUMNS ? MIN_COLUMNS : n > MAX_COLUMNS ? MAX_COLUMNS : n;
}

/* Returns whether the locale is UTF-8. The first of the three variables that is set and not empty
 * decides. */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

struct text_form text_form_of_stdout(void)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");

    return (struct text_form){
        .columns = columns_of_stdout(),
        .utf8 = locale_is_utf8(),
        .colour =
            isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && term && strcmp(term, "dumb"),
    };
}

/* Returns the number of characters in n bytes of UTF-8. */
static size_t count_characters(const char *text, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

void text_wrap(struct buf *b, const char *text, int indent, int columns)
{
    size_t column = 0;

    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " "), width = count_characters(text, n);
        if (column && column + 1 + width > (size_t)columns) {
            buf_addf(b, "\n%*s", indent, "");
            column = (size_t)indent;
        } else if (column) {
            buf_add(b, " ");
            column++;
        }
        buf_add_bytes(b, text, n);
        column += width;
        text += n;
    }
    buf_add(b, "\n");
}

/* Adds text that is escaped for a terminal and wrapped. */
static void add_wrapped(struct buf *b, const char *text, int indent, const struct text_form *form)
{
    struct buf safe = {0};

    escape_plain(&safe, text);
    text_wrap(b, safe.data ? safe.data : "", indent, form->columns);
    b->failed |= safe.failed;
    buf_destroy(&safe);
}

static void add_text_lines(struct buf *b, const char *text, const char *before,
                           const struct text_form *form)
{
    while (*text) {
        struct buf line = {0};
        size_t n = strcspn(text, "\n");
        buf_add(&line, before);
        buf_add_bytes(&line, text, n);
        add_wrapped(b, line.data ? line.data : "", 2, form);
        b->failed |= line.failed;
        buf_destroy(&line);
        text += n + (text[n] == '\n');
    }
}

static void add_headline(struct buf *b, const char *text, const struct text_form *form)
{
    if (form->colour)
        buf_add(b, "\033[1m");
    add_text_lines(b, text, "", form);
    if (form->colour)
        buf_add(b, "\033[0m");
}

void text_encode_verdict(const struct report *r, const struct text_form *form, struct buf *b)
{
    for (size_t i = 0; i < r->nseries; i++) {
        add_headline(b, r->series[i].words.headline, form);
        add_text_lines(b, r->series[i].words.evidence, "", form);
        add_text_lines(b, r->series[i].words.caveats, "But: ", form);
        add_text_lines(b, r->series[i].words.reasons, "", form);
        buf_add(b, "\n");
    }
    add_text_lines(b, r->rule, "Rule: ", form);
    buf_add(b, "\n");
    if (*r->differences) {
        add_text_lines(b, r->differences, "", form);
        buf_add(b, "\n");
    }
    if (*r->problems) {
        buf_add(b, "Left out (in no number of this report):\n");
        add_text_lines(b, r->problems, "- ", form);
        buf_add(b, "\n");
    }
}

/* Adds a bar of `length` characters, rounded to whole ones or, with utf8, down to eighths. Returns
 * how many characters it has. */
static int add_bar(struct buf *b, double length, bool utf8)
{
    static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    int whole = utf8 ? (int)floor(length) : (int)lround(length),
        part = utf8 ? (int)floor((length - whole) * 8) : 0;

    for (int i = 0; i < whole; i++)
        buf_add(b, utf8 ? "\u2588" : "#");
    buf_add(b, eighths[part]);
    return whole + (part > 0);
}

/* Adds a bar up to `value`, then dots up to `ideal`, a mark there and blanks up to `width`, as far
 * as the bar does not cover them; all lengths are in characters. */
static void add_series_bar(struct buf *b, double value, int ideal, int width, bool utf8)
{
    for (int i = add_bar(b, value, utf8); i < width; i++)
        buf_add(b, i == ideal  ? (utf8 ? "\u2502" : "|")
                   : i < ideal ? (utf8 ? "\u00b7" : ".")
                               : " ");
}

/* Adds a bar per count, as long as its speed-up. */
static void add_chart(struct buf *b, const struct series *s, const struct text_form *form)
{
    int width = form->columns - CHART_MARGIN;
    double most = series_ideal(s, s->points[s->npoints - 1].gpus);

    for (size_t i = 0; i < s->npoints; i++)
        most = fmax(most, series_speedup(s, &s->points[i])->value);
    buf_addf(b, "\nspeed-up in steady %ss, up to the ideal (%s)\n", series_interval(s),
             form->utf8 ? "\u2502" : "|");
    for (size_t i = 0; i < s->npoints; i++) {
        const struct ratio *speedup = series_speedup(s, &s->points[i]);
        double length = isfinite(speedup->value) ? speedup->value / most * (width - 1) : 0;
        int ideal = (int)lround(series_ideal(s, s->points[i].gpus) / most * (width - 1));
        buf_addf(b, "%6d  ", s->points[i].gpus);
        add_series_bar(b, length, ideal, width, form->utf8);
        if (isnan(speedup->value))
            buf_add(b, "      -");
        else
            buf_addf(b, "  %5.2f", speedup->value);
        if (interval_is_known(&speedup->interval))
            buf_addf(b, "  %.2f..%.2f", speedup->interval.low, speedup->interval.high);
        else if (!isnan(speedup->least))
            buf_addf(b, "  %.2f..%.2f (range)", speedup->least, speedup->most);
        buf_add(b, "\n");
    }
    buf_add(b, "  GPUs\n");
}

/* Adds the table with its caption if it has rows, and destroys t. */
static void add_text_table(struct buf *b, struct table *t, const struct text_form *form)
{
    if (t->ncells)
        add_wrapped(b, t->caption, 2, form);
    table_append(t, table_encode_text, b);
}

void text_encode(const struct report *r, const struct text_form *form, struct buf *b)
{
    struct table t;

    text_encode_verdict(r, form, b);
    for (size_t i = 0; i < r->nseries; i++) {
        buf_add(b, i ? "\n" : "");
        tables_fill_short(&t, &r->series[i]);
        add_text_table(b, &t, form);
        if (r->series[i].as->series.npoints > 1)
            add_chart(b, &r->series[i].as->series, form);
        buf_add(b, "\n");
        tables_fill_settings(&t, &r->series[i]);
        add_text_table(b, &t, form);
    }
}

void text_encode_rules(const struct report *r, const struct text_form *form, struct buf *b)
{
    for (int i = 0; i < RULES_COUNT; i++) {
        const struct rule *rule = &r->analysis.rules[i];
        struct buf line = {0};
        buf_addf(&line, "%2d. %s: %s %s", rule->number, rule_state_name(rule->state), rule->text,
                 rule->why);
        add_wrapped(b, line.data ? line.data : "", 4, form);
        b->failed |= line.failed;
        buf_destroy(&line);
    }
}

void text_encode_paragraphs(const struct report *r, const struct text_form *form, struct buf *b)
{
    for (size_t i = 0; i < r->nseries; i++) {
        struct buf text = {0};
        paragraph_describe(&text, &r->series[i]);
        for (char *p = text.data; p && *p; p++)
            *p = *p == '\n' ? ' ' : *p;
        buf_add(b, i ? "\n" : "");
        add_wrapped(b, text.data ? text.data : "", 0, form);
        b->failed |= text.failed;
        buf_destroy(&text);
    }
}
