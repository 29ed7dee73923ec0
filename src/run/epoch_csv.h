/* SPDX-License-Identifier: BSD-3-Clause */
/* log.csv, the reference systems' table of epochs (logs/SCHEMA.md). The reader is strict: a file it
 * accepts was written whole by one writer. */
#ifndef UNETCTL_SRC_RUN_EPOCH_CSV_H
#define UNETCTL_SRC_RUN_EPOCH_CSV_H

#include <stddef.h>

#include "src/err.h"

#define EPOCH_CSV_HEADER ",time_per_epoch,loss,lr,training_time,test_time,iou"

struct epoch_row { /* its epoch is its place, from 0 */
    double time_per_epoch, loss, lr;
    double training_time, test_time, iou; /* the same in every row */
};

struct epoch_csv {
    struct epoch_row *rows;
    size_t count; /* at least 1 */
};

/* 0, or -1 with ERR_DATA "FILE:LINE: REASON": another header, a row cut short, a row that is not
 * the next epoch, a value that is not a finite number, a negative time, an IoU outside 0..1,
 * columns that must be constant and are not, no newline at the end, no row. */
int epoch_csv_read(const char *path, struct epoch_csv *dst, struct err *e);

/* The same of n bytes with a NUL behind; name: for errors. */
int epoch_csv_decode(const char *text, size_t n, const char *name, struct epoch_csv *dst,
                     struct err *e);

/* Atomically, "%.6f". Refuses what the reader would refuse for being NaN or infinite (ERR_DATA). */
int epoch_csv_write(const char *path, const struct epoch_row *rows, size_t count, struct err *e);

void epoch_csv_destroy(struct epoch_csv *c);

#endif
