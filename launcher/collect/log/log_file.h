/* SPDX-License-Identifier: BSD-3-Clause */
/* One log of a run in any known form, which its first bytes identify:
 *   the reference systems' table of epochs (src/run/epoch_csv.h),
 *   what Keras' CSVLogger writes (keras_log.h),
 *   MLPerf's logging lines ":::MLLOG {...}" (mllog_file.h).
 * A log that is cut or has a bad number is refused as a whole. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H

#include "launcher/collect/results/results.h"
#include "src/err.h"
#include "src/run/epoch_csv.h"

#define LOG_FILE_MAX ((size_t)64 << 20)

/* Fills r's curve and measurements from path; what the log lacks is left unchanged. r's gpus, seed
 * and engine are set only where the log has them and r has none (gpus 0); a log with another count
 * is refused. 0, or -1 with ERR_DATA "FILE:LINE: REASON"; r is then unchanged. */
int log_file_read(const char *path, struct result *r, struct err *e);

/* The same check of a table in the reference's form. dst: for epoch_csv_destroy. */
int log_file_read_table(const char *path, struct epoch_csv *dst, struct err *e);

#endif
