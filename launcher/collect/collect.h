/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a study's folder and writes its results: one row for each run that exists or is planned,
 * and copies of the logs of good runs, which are done and verified, in STUDY/logs. Does the same
 * for a folder of logs without a study, whose results go to a folder that the caller names. */
#ifndef UNETCTL_LAUNCHER_COLLECT_COLLECT_H
#define UNETCTL_LAUNCHER_COLLECT_COLLECT_H

#include <stdbool.h>

#include "launcher/collect/log/log_form.h"
#include "launcher/collect/results/results.h"
#include "launcher/study/workspace.h"
#include "src/err.h"

/* Fills table, which is empty, from the study's runs, adds rows for runs that its study.yaml wants
 * and that do not exist, and asks the scheduler about runs that have neither DONE nor FAILED. If
 * write is true, writes STUDY/logs: the logs and scores of good runs, then results.csv; files that
 * an earlier collect left for runs which are no longer good are removed. Returns 0, or -1; then
 * table is empty. */
int collect_study(struct workspace *w, bool write, struct results *table, struct err *e);

/* Fills table, which is empty, from the study's runs alone: neither what is missing nor the
 * scheduler is looked at, so runs without a marker stay RESULT_UNFINISHED. Returns 0, or -1; then
 * table is empty. */
int collect_runs(const struct study *study, struct results *table, struct err *e);

/* Returns the length of a run's label, the beginning of its id, or of the whole id if that does not
 * end as RUN_ID_FORMAT says. */
size_t collect_label_size(const struct result *r);

/* Reads a folder of logs of any origin (logs_folder.h) into table, and writes copies of the good
 * logs under their names, then results.csv, to dst_dir. Returns 0, or -1; then table is empty. */
int collect_logs(const char *src_dir, const char *dst_dir, const struct log_form *form,
                 struct results *table, struct err *e);

#endif
