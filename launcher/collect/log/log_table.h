/* SPDX-License-Identifier: BSD-3-Clause */
/* A log as a table: rows of named columns, whatever its form. A row may lack cells. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_TABLE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

#define LOG_COLUMNS_MAX 1024

struct log_cell {
    int column;
    double value; /* a date and time of day is in seconds since 1970 */
    char *text;   /* what stands there if it is not a finite number; otherwise NULL */
};

struct log_row {
    size_t line;     /* its number in the file, from 1 */
    size_t first, n; /* its cells */
};

struct log_table {
    const char *path; /* of the file, for errors */
    const char *row_word; /* what line counts: "" lines, otherwise "record " or the like */
    struct log_column {
        char *name;
        bool dated; /* it has dates */
    } *columns;
    struct log_row *rows;
    struct log_cell *cells;
    size_t ncolumns, nrows, ncells;
    size_t column_capacity, row_capacity, cell_capacity;
};

/* Returns the column called name, which is added if it is new, or -1. */
int log_table_column(struct log_table *t, const char *name, struct err *e);

/* Begins a row of the file's line. Returns 0 or -1. */
int log_table_add_row(struct log_table *t, size_t line, struct err *e);

/* Sets a cell of the last row; blanks around text do not count, and an empty text sets nothing.
 * A list of numbers, "[1, 2]", counts as their mean, a duration "H:MM:SS" as seconds. Both return 0
 * or -1. */
int log_table_set(struct log_table *t, int column, const char *text, struct err *e);
int log_table_set_number(struct log_table *t, const char *name, double value, struct err *e);

/* Returns the cell, or NULL if row i does not have it. */
const struct log_cell *log_table_get(const struct log_table *t, size_t i, int column);

/* Sets e to "FILE:LINE: REASON" with ERR_DATA: row i is damaged. Returns -1. */
int log_table_refuse(const struct log_table *t, size_t i, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets e to "FILE: REASON; its columns are ..." with ERR_CONFIG: the file is not damaged, but which
 * columns count has to be said. Returns -1. */
int log_table_ask(const struct log_table *t, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void log_table_destroy(struct log_table *t);

#endif
