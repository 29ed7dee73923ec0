/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads one log of a run in any known form, which its first bytes identify:
 *
 *   the reference systems' table of epochs (src/run/epoch_csv.h),
 *   what Keras' CSVLogger writes (keras_log.h),
 *   MLPerf's logging lines ":::MLLOG {...}" (mllog_file.h).
 *
 * A log that is truncated or has an invalid number is refused as a whole. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FILE_H

#include "launcher/collect/results/results.h"
#include "src/err.h"
#include "src/run/epoch_csv.h"

#define LOG_FILE_MAX ((size_t)64 << 20)

/* Fills r's curve and measurements from path; what the log lacks remains unchanged. r's gpus,
 * seed and engine are set only if the log has them and r's gpus is 0. A log of another number of
 * GPUs than r's is refused. Returns 0, or -1 with ERR_DATA "FILE:LINE: REASON"; r is then
 * unchanged. */
int log_file_read(const char *path, struct result *r, struct err *e);

/* Reads a table in the reference's form with the same checks. The caller frees dst with
 * epoch_csv_destroy. */
int log_file_read_table(const char *path, struct epoch_csv *dst, struct err *e);

#endif
