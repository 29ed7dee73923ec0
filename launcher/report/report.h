/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report says, before it is written in any form. */
#ifndef UNETCTL_LAUNCHER_REPORT_REPORT_H
#define UNETCTL_LAUNCHER_REPORT_REPORT_H

#include <limits.h>
#include <stddef.h>

#include "launcher/analysis/scaling.h"
#include "launcher/collect/results.h"
#include "launcher/report/verdict.h"
#include "src/err.h"

struct report_engine {
    struct scaling scaling; /* at least one point */
    struct verdict verdict; /* only with two points or more */
    char *words;            /* the verdict, one sentence per line */
};

struct report {
    char title[128];         /* the study's name or the folder of logs */
    char logs_dir[PATH_MAX]; /* where the logs of results lie */
    char created[32];        /* date, ISO 8601 */
    const struct results *results;
    struct report_engine *engines; /* those with good runs */
    size_t nengines;
    char *problems; /* runs without result, one per line; "" when there are none */
};

/* results must be sorted and live as long as the report. 0; -1 with ERR_DATA when there is no good
 * run at all, with ERR_STATS when no engine has good runs on two counts: there is no speed-up to
 * report. */
int report_create(struct report *r, const char *title, const char *logs_dir,
                  const struct results *results, struct err *e);

void report_destroy(struct report *r);

#endif
