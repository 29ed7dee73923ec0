/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a report: charts for the page, and the same as files for papers and talks. */
#ifndef UNETCTL_LAUNCHER_REPORT_FIGURES_H
#define UNETCTL_LAUNCHER_REPORT_FIGURES_H

#include <stddef.h>

#include "launcher/report/chart/chart.h"
#include "launcher/report/report.h"

#define FIGURES_MAX 32

struct figures {
    struct chart list[FIGURES_MAX];
    size_t count;
    char why_not[256]; /* why figures_draw has not made PDF and PNG, or "" */
};

/* Makes the charts that have something to show, at most FIGURES_MAX. Returns 0, or -1 if memory ran
 * out. */
int figures_create(struct figures *f, const struct report *r, struct err *e);

/* Runs, sorted by number of GPUs, whose curves are drawn in the same charts. */
struct figures_group {
    const char *label;
    const struct result *rows; /* one or more */
    size_t n;
};

/* Makes the charts of a study that still runs: speed-up (none if r is NULL), and the loss and the
 * quality by epoch of each group. Returns 0, or -1 if memory ran out. */
int figures_create_live(struct figures *f, const struct report *r,
                        const struct figures_group *groups, size_t ngroups, struct err *e);

/* Writes NAME.svg of each figure, NAME.csv with its numbers and, by rsvg-convert, NAME.pdf and
 * NAME.png into dir, which exists and has none of them. Returns 0, also if rsvg-convert is missing
 * or fails (why_not), or -1 if a file cannot be written. */
int figures_draw(struct figures *f, const char *dir, struct err *e);

void figures_destroy(struct figures *f);

#endif
