/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/runs/RUN: what was planned (run.json) and what its newest attempt came to.
 *
 * A run counts as done only if its attempt has a DONE marker and no FAILED one, record.jsonl is
 * that of this very run and ends well, and log.csv has the same epochs. Everything else is reported
 * with its reason, FILE:LINE where there is one. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RUN_FOLDER_H
#define UNETCTL_LAUNCHER_COLLECT_RUN_FOLDER_H

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Fill r (result_init first) from study_dir/runs/name. A run without marker is RESULT_UNFINISHED:
 * only a scheduler knows more. r->log is left empty. Bad files are a state with a note, no error;
 * -1 (ERR_CONFIG) is left for a bad run.json, and r is RESULT_CORRUPT then. */
int run_folder_read(const char *study_dir, const char *name, struct result *r, struct err *e);

/* Checks all of an attempt's result except its marker. Returns 0, or -1 with the reason. */
int run_folder_check(const char *run_dir, int attempt, struct err *e);

#endif
