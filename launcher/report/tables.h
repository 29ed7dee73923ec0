/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a report. Each fills an uninitialised table; table_destroy frees. A table without
 * rows has nothing to say. */
#ifndef UNETCTL_LAUNCHER_REPORT_TABLES_H
#define UNETCTL_LAUNCHER_REPORT_TABLES_H

#include "launcher/report/markup/table.h"
#include "launcher/report/report.h"

typedef void tables_fill_f(struct table *t, const struct report_series *s);

void tables_fill_speed(struct table *t, const struct report_series *s);
void tables_fill_quality(struct table *t, const struct report_series *s);
void tables_fill_parts(struct table *t, const struct report_series *s); /* where the time goes */
/* and how each part scales */
void tables_fill_each(struct table *t, const struct report_series *s);
void tables_fill_models(struct table *t, const struct report_series *s);
void tables_fill_convergence(struct table *t, const struct report_series *s);
void tables_fill_levels(struct table *t, const struct report_series *s); /* time to each quality */
void tables_fill_settings(struct table *t, const struct report_series *s);

/* All of these, in the order of a document; NULL ends the list. */
extern tables_fill_f *const tables_of_series[];

/* Speed and quality in short, for a terminal of 80 columns. */
void tables_fill_short(struct table *t, const struct report_series *s);

/* Series against series, at each count. */
void tables_fill_pair(struct table *t, const struct report *r, const struct analysis_pair *p);

/* Those of each series, then the pairs. fill ends with NULL. */
void tables_add(struct buf *b, const struct report *r, tables_fill_f *const *fill,
                table_encode_f *encode);

/* The twelve rules. */
void tables_fill_rules(struct table *t, const struct report *r);

/* The first runs, at most so many, and their states. */
void tables_fill_runs(struct table *t, const struct results *results, size_t most);

#endif
