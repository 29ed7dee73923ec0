/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a report: charts for the page, and pictures drawn by gnuplot for papers and
 * talks. */
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
    bool drawn;        /* figures_draw has made SVG, PDF and PNG */
    char why_not[256]; /* the reason if it has not */
};

/* Makes the charts that have something to show, at most FIGURES_MAX. Returns 0, or -1 if memory ran
 * out. */
int figures_create(struct figures *f, const struct report *r, struct err *e);

/* Writes scripts and data into dir, which exists, and draws them. Returns 0, also if gnuplot is
 * missing or fails; why_not then has the reason, and no picture of these figures remains. Returns
 * -1 if a file cannot be written. */
int figures_draw(struct figures *f, const char *dir, struct err *e);

void figures_destroy(struct figures *f);

#endif
