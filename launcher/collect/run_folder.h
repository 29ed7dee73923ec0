/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads STUDY/runs/RUN: what was planned (run.json) and the result of the newest attempt.
 *
 * A run counts as done only if its attempt has a DONE marker and no FAILED one, its record.jsonl
 * belongs to this run and ends successfully, log.csv has the same epochs, and the number of GPUs
 * was always the planned one. Engines other than the embedded one may have only a log (run_log.h).
 * Anything else is reported with its reason, and FILE:LINE if there is one. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RUN_FOLDER_H
#define UNETCTL_LAUNCHER_COLLECT_RUN_FOLDER_H

#include "launcher/collect/log/log_form.h"
#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Fills r, which result_init has initialised, from study_dir/runs/name. A run with an attempt but
 * no marker is RESULT_UNFINISHED, since only a scheduler knows more. A run that is not done has the
 * epochs and the curve that it has written so far. r->log is left empty. Invalid
 * files of the attempt become a state with a note. Returns 0, or -1 with r RESULT_CORRUPT if
 * run.json is invalid (ERR_CONFIG) or the attempts cannot be read. */
int run_folder_read(const char *study_dir, const char *name, const struct log_form *form,
                    struct result *r, struct err *e);

/* Checks all of an attempt's result except its marker. Returns 0, -1 with the reason, or 1 with the
 * reason if only the form of its log is not known, which study.yaml may still say. */
int run_folder_check(const char *run_dir, int attempt, const struct log_form *form, struct err *e);

#endif
