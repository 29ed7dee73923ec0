/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the table that Keras' CSVLogger writes: a header "epoch,accuracy,loss,val_loss,...", one
 * row per epoch, separated by commas or semicolons, with line ends of either kind. Its columns
 * depend on the program. Those used are the loss; the time of an epoch, which CSVLogger does not
 * write by itself, as time_per_epoch, epoch_time, epoch_s, seconds, duration or time; and the
 * first validation column whose name contains iou, io_u or jaccard, otherwise val_accuracy or
 * val_acc. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_KERAS_LOG_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_KERAS_LOG_H

#include <stdbool.h>

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Does text begin with such a header? */
bool keras_log_matches(const char *text);

/* Sets r's curve, times, loss and, if there is such a column, iou or accuracy. text is
 * changed. Returns 0, or -1 with ERR_DATA: there is no loss column, a row has another number of
 * cells, an epoch is not the next one from 0, a number is not finite, a time is negative, a score
 * is outside 0..1, there are no rows, or the last newline is missing. */
int keras_log_decode(char *text, const char *path, struct result *r, struct err *e);

#endif
