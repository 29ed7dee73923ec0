/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/markup/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/report/markup/escape.h"

void table_init(struct table *t, const char *caption, ...)
{
    va_list ap;

    *t = (struct table){.ncolumns = 0};
    va_start(ap, caption);
    vsnprintf(t->caption, sizeof t->caption, caption, ap);
    va_end(ap);
}

/* Returns the column of the next cell: in the first row, which ends when its first head comes
 * again, a new one with this head, or NULL if the table has TABLE_COLUMNS already. */
static struct table_column *next_column(struct table *t, const char *head, bool left)
{
    if (t->ncells > t->ncolumns || (t->ncells && strcmp(head, t->columns[0].head) == 0))
        return &t->columns[t->ncells % t->ncolumns];
    if (t->ncolumns == TABLE_COLUMNS)
        return NULL;
    struct table_column *c = &t->columns[t->ncolumns++];
    *c = (struct table_column){.left = left};
    snprintf(c->head, sizeof c->head, "%s", head);
    c->width = strlen(c->head);
    return c;
}

static void add_cell(struct table *t, const char *head, bool left, const char *fmt, va_list ap)
{
    struct table_column *column = next_column(t, head, left);
    char **cells = reallocarray(t->cells, t->ncells + 1, sizeof *cells);

    t->cells = cells ? cells : t->cells;
    if (!column || !cells || vasprintf(&cells[t->ncells], fmt, ap) < 0) {
        t->failed = true;
        return;
    }
    const char *cell = cells[t->ncells++];
    column->shown |= strcmp(cell, "-") != 0;
    column->width = strlen(cell) > column->width ? strlen(cell) : column->width;
}

void table_add_text(struct table *t, const char *head, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_cell(t, head, true, fmt, ap);
    va_end(ap);
}

void table_addf(struct table *t, const char *head, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_cell(t, head, false, fmt, ap);
    va_end(ap);
}

double table_round(double value, int decimals)
{
    return fabs(value) < 0.5 * pow(10, -decimals) ? 0 : value;
}

void table_add_number(struct table *t, const char *head, double value, int decimals)
{
    if (isfinite(value))
        table_addf(t, head, "%.*f", decimals, table_round(value, decimals));
    else
        table_addf(t, head, "-");
}

/* Returns the number of rows, including the row of heads, which is row 0. */
static size_t count_rows(const struct table *t)
{
    return 1 + t->ncells / t->ncolumns;
}

static const char *cell_at(const struct table *t, size_t row, size_t column)
{
    return row ? t->cells[(row - 1) * t->ncolumns + column] : t->columns[column].head;
}

void table_encode_html(const struct table *t, struct buf *b)
{
    buf_add(b, "<div class=\"wide\" tabindex=\"0\"><table>\n");
    escape_format(b, escape_html, "<caption>%s</caption>\n", t->caption);
    for (size_t row = 0; row < count_rows(t); row++) {
        buf_add(b, row ? "<tr>" : "<thead><tr>");
        for (size_t i = 0; i < t->ncolumns; i++) {
            const char *tag = row && i ? "td" : "th";
            if (!t->columns[i].shown)
                continue;
            buf_addf(b, "<%s%s%s>", tag,
                     row == 0 ? " scope=\"col\"" : i == 0 ? " scope=\"row\"" : "",
                     t->columns[i].left ? " class=\"left\"" : "");
            escape_html(b, cell_at(t, row, i));
            buf_addf(b, "</%s>", tag);
        }
        buf_add(b, row ? "</tr>\n" : "</tr></thead>\n<tbody>\n");
    }
    buf_add(b, "</tbody></table></div>\n");
}

static void add_cells(const struct table *t, size_t row, escape_f *escape, const char *between,
                      struct buf *b)
{
    const char *gap = "";

    for (size_t i = 0; i < t->ncolumns; i++)
        if (t->columns[i].shown) {
            buf_add(b, gap);
            escape(b, cell_at(t, row, i));
            gap = between;
        }
}

void table_encode_markdown(const struct table *t, struct buf *b)
{
    escape_format(b, escape_markdown, "*%s*\n", t->caption);
    for (size_t row = 0; row < count_rows(t); row++) {
        buf_add(b, "\n| ");
        add_cells(t, row, escape_markdown, " | ", b);
        buf_add(b, row ? " |" : " |\n|");
        for (size_t i = 0; row == 0 && i < t->ncolumns; i++)
            if (t->columns[i].shown)
                buf_add(b, t->columns[i].left ? " :-- |" : " --: |");
    }
    buf_add(b, "\n\n");
}

void table_encode_latex(const struct table *t, struct buf *b)
{
    escape_format(b, escape_latex, "\\begin{table}[htbp]\n\\caption{%s}\n", t->caption);
    buf_add(b, "\\centering\\footnotesize\\smallskip\n\\fitline{\\begin{tabular}{");
    for (size_t i = 0; i < t->ncolumns; i++)
        if (t->columns[i].shown)
            buf_add(b, t->columns[i].left ? "l" : "r");
    buf_add(b, "}\n");
    for (size_t row = 0; row < count_rows(t); row++) {
        buf_add(b, row < 2 ? "\\hline\n" : "");
        add_cells(t, row, escape_latex, " & ", b);
        buf_add(b, " \\\\\n");
    }
    buf_add(b, "\\hline\n\\end{tabular}}\n\\end{table}\n\n");
}

void table_encode_text(const struct table *t, struct buf *b)
{
    for (size_t row = 0; row < count_rows(t); row++) {
        const char *gap = "";
        for (size_t i = 0; i < t->ncolumns; i++) {
            const struct table_column *c = &t->columns[i];
            int fill = (int)(c->width - strlen(cell_at(t, row, i)));
            if (!c->shown)
                continue;
            buf_addf(b, "%s%*s", gap, c->left ? 0 : fill, "");
            escape_plain(b, cell_at(t, row, i));
            buf_addf(b, "%*s", c->left && i + 1 < t->ncolumns ? fill : 0, "");
            gap = "  ";
        }
        buf_add(b, "\n");
    }
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
