/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of texts, and how HTML, Markdown, LaTeX and a terminal write it. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKUP_TABLE_H
#define UNETCTL_LAUNCHER_REPORT_MARKUP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"

struct table_column {
    const char *head;
    bool left; /* texts; numbers stand to the right */
};

struct table {
    char caption[512];
    const struct table_column *columns;
    size_t ncolumns; /* at most 64 */
    unsigned long long shown; /* of the encoders: a bit per column that says something */
    char **cells; /* row by row */
    size_t ncells;
    bool failed; /* no memory: the table is incomplete */
};

/* An empty table; columns is kept by pointer. */
void table_init(struct table *t, const struct table_column *columns, size_t ncolumns,
                const char *caption, ...) __attribute__((format(printf, 4, 5)));

/* Add the next cell of the row. */
void table_addf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* value, without a minus where these decimals print 0. */
double table_round(double value, int decimals);

/* A number with so many decimals; "-" for NaN. */
void table_add_number(struct table *t, double value, int decimals);

/* A column in which every cell is "-" is left out. */
typedef void table_encode_f(const struct table *t, struct buf *b);

table_encode_f table_encode_html, table_encode_markdown, table_encode_text;
table_encode_f table_encode_latex; /* needs no package but T1 fonts */

/* The table into b, if it has a row; then it is destroyed. */
void table_append(struct table *t, table_encode_f *encode, struct buf *b);

void table_destroy(struct table *t);

#endif
