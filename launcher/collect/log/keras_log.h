/* SPDX-License-Identifier: BSD-3-Clause */
/* The table that Keras' CSVLogger writes: a header "epoch,accuracy,loss,val_loss,...", one row per
 * epoch, commas or semicolons, line ends of either kind. Its columns depend on the program:
 *   loss; the time of an epoch, which CSVLogger does not write itself, as time_per_epoch,
 *   epoch_time, epoch_s, seconds, duration or time; the first validation column whose name has iou,
 *   io_u or jaccard, otherwise val_accuracy or val_acc. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_KERAS_LOG_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_KERAS_LOG_H

#include <stdbool.h>

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Does text begin with such a header? */
bool keras_log_matches(const char *text);

/* text is changed. Sets r's curve, times, loss, and iou where there is an IoU column. 0; -1 with
 * ERR_DATA: no loss column, a row with another number of cells, an epoch that is not the next one,
 * NaN, a negative time, a score outside 0..1, no row, no newline at the end. */
int keras_log_decode(char *text, const char *path, struct result *r, struct err *e);

#endif
