/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads one log of a run in any form. A log is a table of rows: its container (CSV, JSON, lines
 * that a pattern matches, TensorBoard's events, MLPerf's lines) gives the rows, and one mapping of columns
 * gives the intervals (log_intervals.h). The reference systems' table of epochs
 * (src/run/epoch_csv.h) is checked more strictly.
 *
 * A table that ends inside a line, an MLPerf log without run_stop, and any log with an invalid
 * number are refused as a whole. That whole rows at the end of a table are missing is not noticed
 * here; a comparison with other logs may show it (suspects.h). */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H

#include "launcher/collect/log/log_form.h"
#include "launcher/collect/results/results.h"
#include "src/err.h"
#include "src/run/epoch_csv.h"

#define LOG_FILE_MAX ((size_t)64 << 20)

/* Reads a whole log or record as atomicfile_read does, but with ERR_CONFIG if it has more than
 * LOG_FILE_MAX bytes, as it is not damaged then. */
char *log_file_load(const char *path, size_t *n, struct err *e);

/* Fills r's curve and measurements from path; what the log lacks remains unchanged. form may be
 * NULL. If r's gpus is 0, MLPerf's lines also set gpus, seed and engine; otherwise a log whose lines
 * give another number of GPUs is refused. Returns 0, or -1 and r is unchanged: with ERR_DATA
 * "FILE:LINE: REASON" the log is damaged, with ERR_CONFIG it is of a form that is not known, and the
 * text says what to type. */
int log_file_read(const char *path, const struct log_form *form, struct result *r, struct err *e);

/* Returns whether the file is a log of a known form, by its first bytes. Sets *stated, unless that
 * is NULL, to whether it may itself say on how many GPUs it ran. */
bool log_file_is_known(const char *path, bool *stated);

/* Reads a table in the reference's form with the same checks. Returns 0, and the caller frees dst
 * with epoch_csv_destroy, or -1. */
int log_file_read_table(const char *path, struct epoch_csv *dst, struct err *e);

#endif
