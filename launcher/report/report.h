/* SPDX-License-Identifier: BSD-3-Clause */
/* The content of a report in all its forms: the series side by side, one per engine, settings and
 * mode of scaling of each study or folder of logs. */
#ifndef UNETCTL_LAUNCHER_REPORT_REPORT_H
#define UNETCTL_LAUNCHER_REPORT_REPORT_H

#include <stddef.h>

#include "launcher/analysis/analysis.h"
#include "launcher/report/words.h"
#include "src/err.h"

struct report_series {
    const struct analysis_series *as;
    const struct analysis_source *source;
    /* unique: its name, the title of its source, or both, with its mode or a number if necessary */
    char label[400];
    struct words words;
};

struct report {
    char title[256];
    char created[32]; /* date and time, ISO 8601 */
    const struct analysis_source *sources;
    size_t nsources;
    struct analysis analysis;
    struct report_series *series; /* one per series of the analysis */
    size_t nseries;
    /* Runs without a result, at most REPORT_MAX_PROBLEMS and then the number of further ones, and
     * the notes of the analysis, one per line, or "". */
    char *problems;
    char *rule;        /* the rule of the verdicts, in words */
    double efficiency; /* its threshold */
    /* the differences between both series of each pair of the analysis, only at their largest
     * common count, one sentence per line, or "" */
    char *differences;
};

#define REPORT_MAX_PROBLEMS 200

/* sources must live as long as the report. Returns 0, or -1 with the error of analysis_create or if
 * memory ran out. */
int report_create(struct report *r, const struct analysis_source *sources, size_t nsources,
                  const struct analysis_options *options, struct err *e);

/* Return the number of runs of all sources, and of those with a result. */
size_t report_count_runs(const struct report *r);
size_t report_count_done(const struct report *r);

void report_destroy(struct report *r);

#endif
