/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of texts, and its forms in HTML, Markdown, LaTeX and on a terminal. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKUP_TABLE_H
#define UNETCTL_LAUNCHER_REPORT_MARKUP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"

#define TABLE_COLUMNS 24

struct table_column {
    char head[64];
    bool left;    /* for texts; numbers are aligned to the right */
    bool shown;   /* some cell is not "-"; other columns are omitted */
    size_t width; /* bytes of its head or its longest cell, whichever is longer */
};

struct table {
    char caption[1024];
    struct table_column columns[TABLE_COLUMNS];
    size_t ncolumns;
    char **cells; /* row by row */
    size_t ncells;
    bool failed; /* memory ran out, or there are too many columns; the table is incomplete */
};

/* Initialises an empty table. */
void table_init(struct table *t, const char *caption, ...) __attribute__((format(printf, 2, 3)));

/* Add the next cell of a row: a text, or a number. The cells of the first row define the
 * columns. Each row begins with the first head and
 * has the same heads. */
void table_add_text(struct table *t, const char *head, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void table_addf(struct table *t, const char *head, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a number with this many decimals, or "-" if it is not finite. */
void table_add_number(struct table *t, const char *head, double value, int decimals);

/* Returns value, or 0 without a sign if it would be printed as -0. */
double table_round(double value, int decimals);

/* Write a table that has at least one row. */
typedef void table_encode_f(const struct table *t, struct buf *b);
table_encode_f table_encode_html, table_encode_markdown, table_encode_text;
table_encode_f table_encode_latex; /* needs T1 fonts and \fitline (tables_encode_latex) */

/* Writes the table into b if it has rows, and destroys it. */
void table_append(struct table *t, table_encode_f *encode, struct buf *b);

void table_destroy(struct table *t);

#endif
