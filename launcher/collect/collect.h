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

/* The runs that the study asks for: gpus x the seeds 1..nseeds, at most COLLECT_WANTED_MAX in
 * all. */
struct collect_wanted {
    const char *label; /* the label of their ids (run_plan_label) */
    const int *gpus;
    size_t ngpus;
    long nseeds;
};

/* Fills table, which is empty, from study_dir/runs, adds rows for wanted runs that do not exist,
 * sorts it, and names the log of each good run. Writes nothing. Returns 0 or -1. */
int collect_scan(const char *study_dir, const struct collect_wanted *wanted, struct results *table,
                 struct err *e);

/* Writes study_dir/logs: the logs of good runs, then results.csv. Removes logs that an earlier
 * collect left for runs which are no longer good. label is that of collect_scan. Returns 0 or
 * -1. */
int collect_write(const char *study_dir, const char *label, const struct results *table,
                  struct err *e);

/* Scans the study by what its study.yaml wants and what the scheduler knows of runs without a
 * marker. If write is false, nothing in the study changes. Returns 0 or -1. */
int collect_study(struct workspace *w, bool write, struct results *table, struct err *e);

/* Reads a folder of logs of any origin (logs_folder.h) into table, and writes copies of the good
 * logs under their names, then results.csv, to dst_dir. Returns 0 or -1. */
int collect_logs(const char *src_dir, const char *dst_dir, struct results *table, struct err *e);

#endif
