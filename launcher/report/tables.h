/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a report. Each tables_fill function fills an uninitialised table, which the
 * caller passes to table_append or table_destroy. A table without rows is omitted. */
#ifndef UNETCTL_LAUNCHER_REPORT_TABLES_H
#define UNETCTL_LAUNCHER_REPORT_TABLES_H

#include "launcher/report/markup/table.h"
#include "launcher/report/report.h"

/* Adds the tables of each series, except the short one, then those of the pairs of series. */
void tables_add(struct buf *b, const struct report *r, table_encode_f *encode);

/* Returns the tables as LaTeX to be \input into a paper, with the short table of speed and without
 * those that only a page has room for. The caller frees the text. NULL if memory ran out. */
char *tables_encode_latex(const struct report *r);

/* Adds the comment and the macro that table_encode_latex needs. */
void tables_begin_latex(struct buf *b, const char *created);

/* Fills a table of times, speed-up and efficiency with the intervals of each. */
void tables_fill_scaling(struct table *t, const struct report_series *s);

/* Fills a short table of speed and quality, for a terminal of 80 columns. */
void tables_fill_short(struct table *t, const struct report_series *s);

void tables_fill_quality(struct table *t, const struct report_series *s);
void tables_fill_settings(struct table *t, const struct report_series *s);

/* The twelve rules. */
void tables_fill_rules(struct table *t, const struct report *r);

/* Lists the first `most` runs with their states. */
void tables_fill_runs(struct table *t, const struct results *results, size_t most);

/* What the runs that are done computed on and with; no row if no log has it. */
void tables_fill_software(struct table *t, const struct results *results);

#endif
