/* SPDX-License-Identifier: BSD-3-Clause */
/* log.csv, the table of epochs that unet-train writes, in the form of the two reference systems:
 * the TensorFlow and PyTorch programs that its results are compared with (logs/SCHEMA.md). The
 * reader is strict: it refuses files that end inside a line, lack a row between others, or mix two
 * runs. It does not notice that whole rows at the end are missing. */
#pragma once

#include "src/base.h"

#define EPOCH_CSV_HEADER ",time_per_epoch,loss,lr,training_time,test_time,iou"

struct epoch_row { /* the epoch is the index of the row, from 0; times are in seconds */
    double time_per_epoch, loss, lr;
    double training_time, test_time, iou; /* of the whole run, repeated in every row */
};

struct epoch_csv {
    struct epoch_row *rows;
    size_t count; /* at least 1 */
};

/* Decodes n bytes, which a NUL follows. name appears in errors. Returns 0, or -1 with ERR_DATA
 * "NAME:LINE: REASON": the header differs, a row is truncated or is not the next epoch, a value is
 * not a finite number, a time is negative, an IoU is outside 0..1, a column that must be constant
 * is not, the last newline is missing, or there is no row. */
int epoch_csv_decode(const char *text, size_t n, const char *name, struct epoch_csv *dst,
                     struct err *e);

/* Writes the file atomically, numbers as "%.6f". Returns 0, or -1: ERR_DATA for values that are
 * not finite, which the reader would refuse, or ERR_INTERNAL. */
int epoch_csv_write(const char *path, const struct epoch_row *rows, size_t count, struct err *e);

void epoch_csv_destroy(struct epoch_csv *c);
