/* SPDX-License-Identifier: BSD-3-Clause */
/* MLPerf's logging lines, :::MLLOG {"key":.., "time_ms":.., "value":.., "metadata":{..}}, among
 * other output, become a table of intervals (log_table.h). What is used of them:
 *   epoch_start, epoch_stop, block_start, block_stop, eval_accuracy
 *                                     The intervals end at epoch_stop, block_stop or eval_accuracy,
 *                                     whichever is most frequent; evaluations do not count
 *   eval_start, eval_stop             evaluation
 *   train_loss, eval_accuracy         loss and score of the interval of their time; the score is an
 *                                     accuracy, or IoU if metadata.metric is "iou"
 *   init_start, run_start             start-up; the training begins at run_start, if there is one
 *   run_stop                          the end; metadata.status, if given, must be "success"
 *   samples_per_epoch, train_samples, metadata.epoch_count
 *                                     the work of an interval; of the benchmark bert, whose
 *                                     epoch_num counts samples, that
 *   number_of_ranks, seed, engine, global_batch_size, eval_samples: what was run. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_MLLOG_FILE_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_MLLOG_FILE_H

#include <stdbool.h>

#include "launcher/collect/log/log_table.h"
#include "launcher/collect/results/results.h"

/* Returns whether text contains such a line. */
bool mllog_file_matches(const char *text);

/* Appends a row for each interval to t, and sets what r says of the run. If r's gpus is 0, also
 * sets gpus, seed and engine. Refuses, with ERR_DATA, a line that is not JSON, an epoch that does
 * not stop or overlaps the one before, a log without run_stop or with a status other than success,
 * and a log of another number of ranks than r has. */
int mllog_file_read(const char *text, struct log_table *t, struct result *r, struct err *e);

#endif
