/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a study's folder and writes its results: one row for each run that exists or is planned,
 * and copies of the good runs' logs in STUDY/logs. */
#ifndef UNETCTL_LAUNCHER_COLLECT_COLLECT_H
#define UNETCTL_LAUNCHER_COLLECT_COLLECT_H

#include <stdbool.h>

#include "launcher/collect/results/results.h"
#include "launcher/study/workspace.h"
#include "src/err.h"

#define COLLECT_WANTED_MAX 100000

/* What the study wants: counts x seeds 1..nseeds, together at most COLLECT_WANTED_MAX. */
struct collect_wanted {
    const char *label; /* of its runs (run_plan_label) */
    const int *gpus;
    size_t ngpus;
    long nseeds;
};

/* Fill table (empty before) from study_dir/runs, add what is wanted and has no run, sort it, and
 * give each good run the name of its log. Writes nothing. */
int collect_scan(const char *study_dir, const struct collect_wanted *wanted, struct results *table,
                 struct err *e);

/* Write study_dir/logs: the logs of good runs, results.csv last. Logs that an earlier collect left
 * for runs which are not good now are removed. label: that of collect_scan. */
int collect_write(const char *study_dir, const char *label, const struct results *table,
                  struct err *e);

/* Scan, with what study.yaml wants, and what the scheduler knows of runs without a marker; and
 * write, if asked to. Without, nothing in the study changes. */
int collect_study(struct workspace *w, bool write, struct results *table, struct err *e);

/* A folder of logs of whatever origin (logs_folder.h) into dst_dir: copies of the good ones under
 * their names, results.csv last. Table is filled. */
int collect_logs(const char *src_dir, const char *dst_dir, struct results *table, struct err *e);

#endif
