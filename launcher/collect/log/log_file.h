/* SPDX-License-Identifier: BSD-3-Clause */
/* One log of a run in any form that is known, told apart by its first bytes:
 *   the reference systems' table of epochs (src/run/epoch_csv.h),
 *   what Keras' CSVLogger writes (keras_log.h),
 *   MLPerf's logging lines ":::MLLOG {...}" (mllog_file.h).
 * Whatever is not whole, or is no number, is refused: nothing of a bad log is used. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H

#include "launcher/collect/results/results.h"
#include "src/err.h"
#include "src/run/epoch_csv.h"

#define LOG_FILE_MAX ((size_t)64 << 20)

/* Fill r's curve and measurements from path; what the log does not tell stays as it is. r's gpus,
 * seed and engine are set only where the log tells them and r has none (gpus 0); a log that tells
 * another count is refused. 0, or -1 with ERR_DATA "FILE:LINE: REASON"; r is then unchanged. */
int log_file_read(const char *path, struct result *r, struct err *e);

/* The same check of a table in the reference's form. dst: for epoch_csv_destroy. */
int log_file_read_table(const char *path, struct epoch_csv *dst, struct err *e);

#endif
