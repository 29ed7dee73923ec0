/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads one log of a run in any known form, which its contents identify:
 *
 *   the reference systems' table of epochs (src/run/epoch_csv.h),
 *   what Keras' CSVLogger writes (keras_log.h),
 *   MLPerf's logging lines ":::MLLOG {...}" (mllog_file.h).
 *
 * A table that ends inside a line, an MLPerf log without run_stop, and any log with an invalid
 * number are refused as a whole. That whole rows at the end of a table are missing is not noticed
 * here; a comparison with other logs may show it (suspects.h). */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H

#include "launcher/collect/results/results.h"
#include "src/err.h"
#include "src/run/epoch_csv.h"

#define LOG_FILE_MAX ((size_t)64 << 20)

/* Fills r's curve and measurements from path; what the log lacks remains unchanged. If r's gpus is
 * 0, MLPerf's lines also set gpus, seed and engine; otherwise a log whose lines give another number
 * of GPUs is refused. Returns 0, or -1 with ERR_DATA "FILE:LINE: REASON"; r is then unchanged. */
int log_file_read(const char *path, struct result *r, struct err *e);

/* Reads a table in the reference's form with the same checks. Returns 0, and the caller frees dst
 * with epoch_csv_destroy, or -1. */
int log_file_read_table(const char *path, struct epoch_csv *dst, struct err *e);

#endif
