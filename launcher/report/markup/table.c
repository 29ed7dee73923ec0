/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/markup/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/report/markup/escape.h"

void table_init(struct table *t, const struct table_column *columns, size_t ncolumns,
                const char *caption, ...)
{
    va_list ap;

    *t = (struct table){.columns = columns, .ncolumns = ncolumns};
    va_start(ap, caption);
    vsnprintf(t->caption, sizeof t->caption, caption, ap);
    va_end(ap);
}

void table_addf(struct table *t, const char *fmt, ...)
{
    char **cells = reallocarray(t->cells, t->ncells + 1, sizeof *cells), *cell;
    va_list ap;
    int n;

    if (cells)
        t->cells = cells;
    va_start(ap, fmt);
    n = vasprintf(&cell, fmt, ap);
    va_end(ap);
    if (cells && n >= 0) {
        t->cells[t->ncells++] = cell;
        return;
    }
    if (n >= 0)
        free(cell);
    t->failed = true;
}

double table_round(double value, int decimals)
{
    return fabs(value) < 0.5 * pow(10, -decimals) ? 0 : value;
}

void table_add_number(struct table *t, double value, int decimals)
{
    if (isfinite(value))
        table_addf(t, "%.*f", decimals, table_round(value, decimals));
    else
        table_addf(t, "-");
}

static bool says_something(const struct table *t, size_t column)
{
    for (size_t i = column; i < t->ncells; i += t->ncolumns)
        if (strcmp(t->cells[i], "-"))
            return true;
    return t->ncells == 0;
}

static bool is_shown(const struct table *t, size_t column)
{
    return t->shown >> column & 1;
}

/* To be called before the columns are asked for: which of them say something. */
static struct table with_shown(const struct table *t)
{
    struct table copy = *t;

    copy.shown = 0;
    for (size_t i = 0; i < t->ncolumns; i++)
        copy.shown |= (unsigned long long)says_something(t, i) << i;
    return copy;
}

static size_t row_count(const struct table *t)
{
    return t->ncells / t->ncolumns;
}

static void encode_html(const struct table *t, struct buf *b)
{
    buf_add(b, "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>");
    escape_html(b, t->caption);
    buf_add(b, "</caption>\n<thead><tr>");
    for (size_t i = 0; i < t->ncolumns; i++) {
        if (!is_shown(t, i))
            continue;
        buf_addf(b, "<th scope=\"col\"%s>", t->columns[i].left ? " class=\"left\"" : "");
        escape_html(b, t->columns[i].head);
        buf_add(b, "</th>");
    }
    buf_add(b, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < row_count(t); row++) {
        buf_add(b, "<tr>");
        for (size_t i = 0; i < t->ncolumns; i++) {
            if (!is_shown(t, i))
                continue;
            buf_addf(b, i ? "<td%s>" : "<th scope=\"row\"%s>",
                     t->columns[i].left ? " class=\"left\"" : "");
            escape_html(b, t->cells[row * t->ncolumns + i]);
            buf_add(b, i ? "</td>" : "</th>");
        }
        buf_add(b, "</tr>\n");
    }
    buf_add(b, "</tbody></table></div>\n");
}

static void encode_markdown(const struct table *t, struct buf *b)
{
    buf_add(b, "*");
    escape_markdown(b, t->caption);
    buf_add(b, "*\n\n|");
    for (size_t i = 0; i < t->ncolumns; i++)
        if (is_shown(t, i)) {
            buf_add(b, " ");
            escape_markdown(b, t->columns[i].head);
            buf_add(b, " |");
        }
    buf_add(b, "\n|");
    for (size_t i = 0; i < t->ncolumns; i++)
        if (is_shown(t, i))
            buf_add(b, t->columns[i].left ? " :-- |" : " --: |");
    for (size_t row = 0; row < row_count(t); row++) {
        buf_add(b, "\n|");
        for (size_t i = 0; i < t->ncolumns; i++)
            if (is_shown(t, i)) {
                buf_add(b, " ");
                escape_markdown(b, t->cells[row * t->ncolumns + i]);
                buf_add(b, " |");
            }
    }
    buf_add(b, "\n\n");
}

/* heads, or the cells of a row */
static void encode_latex_row(const struct table *t, const char *const *cells, struct buf *b)
{
    const char *gap = "";

    for (size_t i = 0; i < t->ncolumns; i++)
        if (is_shown(t, i)) {
            buf_add(b, gap);
            escape_latex(b, cells[i]);
            gap = " & ";
        }
    buf_add(b, " \\\\\n");
}

static void encode_latex(const struct table *t, struct buf *b)
{
    const char **heads = calloc(t->ncolumns, sizeof *heads);

    b->failed |= !heads;
    if (!heads)
        return;
    buf_add(b, "\\begin{table}[htbp]\n\\caption{");
    escape_latex(b, t->caption);
    buf_add(b, "}\n\\centering\\footnotesize\\smallskip\n\\fitline{\\begin{tabular}{");
    for (size_t i = 0; i < t->ncolumns; i++) {
        heads[i] = t->columns[i].head;
        if (is_shown(t, i))
            buf_add(b, t->columns[i].left ? "l" : "r");
    }
    buf_add(b, "}\n\\hline\n");
    encode_latex_row(t, heads, b);
    buf_add(b, "\\hline\n");
    for (size_t row = 0; row < row_count(t); row++)
        encode_latex_row(t, (const char *const *)t->cells + row * t->ncolumns, b);
    buf_add(b, "\\hline\n\\end{tabular}}\n\\end{table}\n\n");
    free(heads);
}

static int column_width(const struct table *t, size_t column)
{
    size_t width = strlen(t->columns[column].head);

    for (size_t i = column; i < t->ncells; i += t->ncolumns)
        if (strlen(t->cells[i]) > width)
            width = strlen(t->cells[i]);
    return (int)width;
}

/* cells: one per column. */
static void encode_text_row(const struct table *t, const char *const *cells, struct buf *b)
{
    const char *gap = "";

    for (size_t i = 0; i < t->ncolumns; i++) {
        if (!is_shown(t, i))
            continue;
        int fill = column_width(t, i) - (int)strlen(cells[i]);
        buf_addf(b, "%s%*s", gap, t->columns[i].left ? 0 : fill, "");
        escape_plain(b, cells[i]);
        if (t->columns[i].left && i + 1 < t->ncolumns)
            buf_addf(b, "%*s", fill, "");
        gap = "  ";
    }
    buf_add(b, "\n");
}

static void encode_text(const struct table *t, struct buf *b)
{
    const char **heads = calloc(t->ncolumns, sizeof *heads);

    b->failed |= !heads;
    for (size_t i = 0; heads && i < t->ncolumns; i++)
        heads[i] = t->columns[i].head;
    if (heads)
        encode_text_row(t, heads, b);
    for (size_t row = 0; row < row_count(t); row++)
        encode_text_row(t, (const char *const *)t->cells + row * t->ncolumns, b);
    free(heads);
}

void table_encode_html(const struct table *t, struct buf *b)
{
    struct table shown = with_shown(t);

    encode_html(&shown, b);
}

void table_encode_markdown(const struct table *t, struct buf *b)
{
    struct table shown = with_shown(t);

    encode_markdown(&shown, b);
}

void table_encode_latex(const struct table *t, struct buf *b)
{
    struct table shown = with_shown(t);

    encode_latex(&shown, b);
}

void table_encode_text(const struct table *t, struct buf *b)
{
    struct table shown = with_shown(t);

    encode_text(&shown, b);
}

void table_append(struct table *t, table_encode_f *encode, struct buf *b)
{
    if (t->ncells)
        encode(t, b);
    b->failed |= t->failed;
    table_destroy(t);
}

void table_destroy(struct table *t)
{
    for (size_t i = 0; i < t->ncells; i++)
        free(t->cells[i]);
    free(t->cells);
    t->cells = NULL;
    t->ncells = 0;
}
