/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a report. Each fills an uninitialised table; table_destroy frees. label: what the series is
 * called. */
#ifndef UNETCTL_LAUNCHER_REPORT_TABLES_H
#define UNETCTL_LAUNCHER_REPORT_TABLES_H

#include <stdbool.h>

#include "launcher/analysis/scaling.h"
#include "launcher/collect/results.h"
#include "launcher/report/table.h"

void tables_fill_speed(struct table *t, const struct scaling *s, const char *label);
void tables_fill_quality(struct table *t, const struct scaling *s, const char *label);

/* Where the time of an epoch goes; only for records that tell it (tables_has_parts). */
void tables_fill_parts(struct table *t, const struct scaling *s, const char *label);
bool tables_has_parts(const struct scaling *s);

/* Speed and quality in short, for a terminal of 80 columns. */
void tables_fill_short(struct table *t, const struct scaling *s);

/* The first runs, at most so many, and their states. */
void tables_fill_runs(struct table *t, const struct results *results, size_t most);

#endif
