/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a report: charts for the page, and drawn by gnuplot for papers and talks. */
#ifndef UNETCTL_LAUNCHER_REPORT_FIGURES_H
#define UNETCTL_LAUNCHER_REPORT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/report/chart/chart.h"
#include "launcher/report/report.h"

#define FIGURES_MAX 32

struct figures {
    struct chart list[FIGURES_MAX];
    size_t count;
    bool drawn;        /* figures_draw made SVG, PDF and PNG */
    char why_not[256]; /* when it did not */
};

/* Make the charts: only those that have something to show. 0, or -1 without memory. */
int figures_create(struct figures *f, const struct report *r, struct err *e);

/* Writes scripts and data into dir, which exists, and draws them. 0 also when gnuplot is missing or
 * fails: why_not has the reason, and no picture of an earlier report is left. -1 when a file can't
 * be written. */
int figures_draw(struct figures *f, const char *dir, struct err *e);

void figures_destroy(struct figures *f);

#endif
