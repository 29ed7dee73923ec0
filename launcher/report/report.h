/* SPDX-License-Identifier: BSD-3-Clause */
/* The content of a report, for all of its forms: series side by side, one per engine (and mode of
 * scaling) of each study or folder of logs. */
#ifndef UNETCTL_LAUNCHER_REPORT_REPORT_H
#define UNETCTL_LAUNCHER_REPORT_REPORT_H

#include <stddef.h>

#include "launcher/analysis/analysis.h"
#include "launcher/report/words.h"
#include "src/err.h"

struct report_series {
    const struct analysis_series *as;
    const struct analysis_source *source;
    char label[400]; /* unique: its name, the source's title or both */
    struct words words;
};

struct report {
    char title[256];
    char created[32]; /* date, ISO 8601 */
    const struct analysis_source *sources;
    size_t nsources;
    struct analysis analysis;
    struct report_series *series; /* as many as analysis has */
    size_t nseries;
    char *problems;    /* runs without result, one per line, REPORT_MAX_PROBLEMS at most, or "" */
    char *rule;        /* by which the verdicts are found, in words */
    char *differences; /* what differs between series, a sentence per line */
};

#define REPORT_MAX_PROBLEMS 200

/* sources must live as long as the report. 0, or -1 with the error of analysis_create. */
int report_create(struct report *r, const struct analysis_source *sources, size_t nsources,
                  const struct analysis_options *options, struct err *e);

/* Runs of all sources, and those of them with a result. */
size_t report_count_runs(const struct report *r);
size_t report_count_done(const struct report *r);

void report_destroy(struct report *r);

#endif
