/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report says, before it is written in any form: series side by side, one per engine of each
 * study or folder of logs. */
#ifndef UNETCTL_LAUNCHER_REPORT_REPORT_H
#define UNETCTL_LAUNCHER_REPORT_REPORT_H

#include <limits.h>
#include <stddef.h>

#include "launcher/analysis/scaling.h"
#include "launcher/collect/results.h"
#include "launcher/report/verdict.h"
#include "src/err.h"

/* Where results come from: a study, or a folder of logs. */
struct report_source {
    char title[128];         /* the study's name or the folder's */
    char logs_dir[PATH_MAX]; /* where the logs of results lie */
    struct results results;  /* sorted */
};

struct report_series {
    const struct report_source *source;
    char label[192];        /* what tells it from the others: engine, title or both */
    struct scaling scaling; /* at least one point */
    struct verdict verdict; /* only with two points or more */
    char *words;            /* the verdict, one sentence per line */
};

struct report {
    char title[256];
    char created[32]; /* date, ISO 8601 */
    const struct report_source *sources;
    size_t nsources;
    struct report_series *series; /* those with good runs */
    size_t nseries;
    char *problems; /* runs without result, one per line; "" when there are none */
};

/* sources must live as long as the report. 0; -1 with ERR_DATA when there is no good run at all,
 * with ERR_STATS when no series has good runs on two counts: there is no speed-up to report. */
int report_create(struct report *r, const struct report_source *sources, size_t nsources, struct err *e);

/* Runs of all sources, and those of them with a result. */
size_t report_count_runs(const struct report *r);
size_t report_count_done(const struct report *r);

void report_destroy(struct report *r);

#endif
