/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a report. Each tables_fill function fills an uninitialised table, which
 * table_append or table_destroy frees. A table without rows is left out. */
#ifndef UNETCTL_LAUNCHER_REPORT_TABLES_H
#define UNETCTL_LAUNCHER_REPORT_TABLES_H

#include "launcher/report/markup/table.h"
#include "launcher/report/report.h"

/* Adds all tables of each series, then those of the pairs of series. */
void tables_add(struct buf *b, const struct report *r, table_encode_f *encode);

/* The same as LaTeX, without what only a page has room for, to be \input into a paper. malloc'ed;
 * NULL without memory. */
char *tables_encode_latex(const struct report *r);

/* Speed and quality in short, for a terminal of 80 columns. */
void tables_fill_short(struct table *t, const struct report_series *s);

void tables_fill_quality(struct table *t, const struct report_series *s);
void tables_fill_settings(struct table *t, const struct report_series *s);

/* The twelve rules. */
void tables_fill_rules(struct table *t, const struct report *r);

/* The first runs, at most `most`, and their states. */
void tables_fill_runs(struct table *t, const struct results *results, size_t most);

#endif
