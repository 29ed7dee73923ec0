/* SPDX-License-Identifier: BSD-3-Clause */
/* MLPerf's logging lines, :::MLLOG {"key":.., "time_ms":.., "value":.., "metadata":{..}}, among
 * other output. What is used of them:
 *   init_start, to the first epoch    start-up
 *   epoch_start, epoch_stop           epochs, by their times
 *   train_loss, eval_accuracy         loss and score of the epoch metadata.epoch_num (from 1), or
 *                                     of the last one; the score is an accuracy, or IoU if
 *                                     metadata.metric is "iou", as unetctl report writes it
 *   eval_start, eval_stop             evaluation
 *   run_stop                          the end; metadata.status, if given, must be "success"
 *   number_of_ranks, seed, engine, global_batch_size, train_samples, eval_samples: what was run. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_MLLOG_FILE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_MLLOG_FILE_H

#include <stdbool.h>

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Does text contain such a line? */
bool mllog_file_matches(const char *text);

/* Decodes text as log_file_read does. Refuses, with ERR_DATA, a line that is not JSON, an epoch
 * that does not stop or overlaps the one before, a loss that is not a number, a score outside
 * 0..1, a log without run_stop or with a status other than success, and a log of another number of
 * ranks than r has. */
int mllog_file_decode(const char *text, const char *path, struct result *r, struct err *e);

#endif
