/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of texts, and how HTML, Markdown, LaTeX and a terminal write it. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKUP_TABLE_H
#define UNETCTL_LAUNCHER_REPORT_MARKUP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"

#define TABLE_COLUMNS 24

struct table_column {
    const char *head;
    bool left;    /* texts; numbers are aligned to the right */
    bool shown;   /* some cell is not "-"; other columns are left out */
    size_t width; /* bytes of its longest cell */
};

struct table {
    char caption[1024];
    struct table_column columns[TABLE_COLUMNS];
    size_t ncolumns;
    char **cells; /* row by row */
    size_t ncells;
    bool failed; /* out of memory, or too many columns: the table is incomplete */
};

/* Makes an empty table. */
void table_init(struct table *t, const char *caption, ...) __attribute__((format(printf, 2, 3)));

/* Add the next cell of a row: a text, or a number. The cells of the first row make the columns,
 * each under its head, which lives as long as the table. The first head begins a row, and every row
 * has the same heads. */
void table_add_text(struct table *t, const char *head, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void table_addf(struct table *t, const char *head, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a number with so many decimals, or "-" for NaN. */
void table_add_number(struct table *t, const char *head, double value, int decimals);

/* Returns value, without a minus where these decimals print 0. */
double table_round(double value, int decimals);

/* Write a table that has a row. */
typedef void table_encode_f(const struct table *t, struct buf *b);
table_encode_f table_encode_html, table_encode_markdown, table_encode_text;
table_encode_f table_encode_latex; /* needs only T1 fonts */

/* Writes the table into b, if it has a row, and destroys it. */
void table_append(struct table *t, table_encode_f *encode, struct buf *b);

void table_destroy(struct table *t);

#endif
