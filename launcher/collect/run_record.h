/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads record.jsonl (logs/SCHEMA.md), which a trainer appends to while it runs. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RUN_RECORD_H
#define UNETCTL_LAUNCHER_COLLECT_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/collect/results/results.h"
#include "src/err.h"

struct run_epoch {
    double seconds, loss;
    /* The following are NaN if the record does not have them. */
    double images;         /* that all ranks processed */
    double data_s, comm_s; /* seconds in which rank 0 waited for data and communication */
    double val_iou, val_accuracy, val_loss;
    double train_iou;
    double grad_sq, grad_var; /* |G|^2 and tr(Sigma): unbiased estimates (analysis.h) */
};

struct run_record {
    /* Names, counts, times and quality from the run line, and from the end line if its status is
     * done. epochs is the planned number. Has no curve, scores, settings or state. */
    struct result run;
    char backend[16]; /* the backend that computed; "" if not recorded */
    char dtype[16];   /* the number format it chose; "" if not recorded */
    struct run_epoch *epochs; /* of a run that ended at its limit: intervals (run_record.c) */
    size_t nepochs, capacity;
    char worlds[200];   /* "4 GPUs, 2 from epoch 12 on" if the number changed, otherwise "" */
    bool done;          /* the status in the end line is done */
    /* the wanted quality was reached, or improved no further, before the planned epochs */
    bool stopped_early;
    char error[256];    /* from an end line with status failed */
    int exit_code;
};

/* Reads a record. Returns 0, or -1, for a bad line with ERR_DATA "FILE:LINE: REASON", for a file of
 * more than 64 MiB with ERR_CONFIG. A last line
 * without a newline is ignored, since the writer was killed. Refuses a file without a run line, an
 * unknown schema, a line that is not a JSON object, epochs that do not count from 0, required
 * numbers that are missing or not finite, qualities outside 0..1, and lines after the end
 * line; a record without an end line is not refused. dst is then empty. */
int run_record_read(const char *path, struct run_record *dst, struct err *e);

void run_record_destroy(struct run_record *r);

#endif
