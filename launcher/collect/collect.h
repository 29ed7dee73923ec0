/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects results: run folders and logs become one table, a row for each run that exists or is
 * planned, and copies of the logs of good runs, which are done and verified, in STUDY/logs. The
 * same is done for a folder of logs without a study, whose results go to a folder that the caller
 * names.
 *
 *   run.json, record.jsonl, log.csv, markers -> run_folder.c -> row
 * logs of other programs -> log/ -> row rows -> table -> logs/results.csv
 *   energy.jsonl, Slurm's accounting -> run_energy.c -> energy
 *   ledger, scheduler -> launcher/status -> the state of a run without a marker
 *
 * collect, report, the live page and rounds call it; finish checks one attempt with it before it
 * writes DONE. A run that cannot be read is a row with a state and a note, never an error: an error
 * is what hinders the whole. What is written replaces files atomically, in one batch.
 *
 * Read collect.c from collect_study on, then run_folder.c (what one run says), run_record.c (its
 * record and its settings), logs_folder.c (logs without a study, and rows that contradict each
 * other), and results/results.h for what comes out. */
#pragma once

#include "src/base.h"

#include "launcher/collect/log/log_file.h"
#include "launcher/collect/results/results.h"
#include "launcher/study/study.h"
#include "launcher/study/workspace.h"

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

/* Reads a folder of logs of any origin into table, and writes copies of the good logs
 * under their names, then results.csv, to dst_dir. Returns 0, or -1; then table is empty. */
int collect_logs(const char *src_dir, const char *dst_dir, const struct log_form *form,
                 struct results *table, struct err *e);

/* Reads a folder of logs, without writing. If it has a results.csv, which unetctl collect writes,
 * that lists the runs; otherwise the names and contents of the logs do.
 *
 * Without results.csv, files named log_N.csv, log_hvd_N.csv or log_ENGINE_N_sSEED.csv (log_file.h)
 * are read in any form that log_file.h knows, and files of any other name if they have MLLOG lines
 * with number_of_ranks. Names may end in .log, .txt, .json, .jsonl or .tfevents, too.
 *
 * Fills table, which is empty, with sorted rows, curves and scores. Returns 0, or -1 with ERR_DATA
 * if the folder or its results.csv cannot be read, or if there is no log; table is then empty.
 *
 * A results.csv may have been edited, so it is compared with those of its logs that exist: a done
 * row becomes corrupt if its log is invalid or contradicts it, if its scores are invalid, if it has
 * the run or the log of an earlier row, the engine, settings, number of GPUs and seed of another
 * row (of copies, one remains), or a time or quality that no run can have.
 *
 * Without results.csv, a log that is invalid becomes a corrupt row with a note. So do one with
 * invalid scores, and logs that contradict each other (logs_folder.c). Rows are unread of a log
 * whose form is not known (form, which may be NULL, can say more), of a log, or any .csv file but
 * images_*, of which neither the name nor the lines give the number of GPUs, and of a log that is
 * compressed or whose name ends in .CSV. */
int logs_folder_read(const char *dir, const struct log_form *form, struct results *table,
                     struct err *e);

/* Returns what the study says of its logs; it points into s. */
struct log_form run_log_form(const struct study *s);

/* Writes the path of the attempt's log, which its program may have called what it likes, to dst:
 * form->file in its folder; with a pattern and without a file, the job's output; else log.csv, or
 * the only file of a known form there or in a folder below, or the job's output if it has MLPerf's
 * lines. Returns 0, or -1 if there is none or several. */
int run_log_find(const char *attempt_dir, const struct log_form *form, char dst[PATH_MAX],
                 struct err *e);

/* Reads STUDY/runs/RUN: what was planned (run.json) and the result of the newest attempt.
 *
 * A run counts as done only if its attempt has a DONE marker and no FAILED one, its record.jsonl
 * belongs to this run and ends successfully, log.csv has the same epochs, and the number of GPUs
 * was always the planned one. Engines other than the embedded one may have only a log.
 * Anything else is reported with its reason, and FILE:LINE if there is one.
 *
 * Fills r, which result_init has initialised, from study_dir/runs/name. A run with an attempt but
 * no marker is RESULT_UNFINISHED, since only a scheduler knows more. A run that is not done has the
 * epochs and the curve that it has written so far. r->log is left empty. Invalid files of the
 * attempt become a state with a note. Returns 0, or -1 with r RESULT_CORRUPT if run.json is invalid
 * (ERR_CONFIG) or the attempts cannot be read. */
int run_folder_read(const char *study_dir, const char *name, const struct log_form *form,
                    struct result *r, struct err *e);

/* Checks all of an attempt's result except its marker. Returns 0, or -1 with the reason. */
int run_folder_check(const char *run_dir, int attempt, const struct log_form *form, struct err *e);
