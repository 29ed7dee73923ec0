/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of record.jsonl (logs/SCHEMA.md), which a trainer appends to while it runs. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RUN_RECORD_H
#define UNETCTL_LAUNCHER_COLLECT_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/collect/results/results.h"
#include "src/err.h"

struct run_epoch {
    double seconds, loss, images;
    double data_s, comm_s; /* NaN when the line has none, as the next */
    double val_iou, val_accuracy;
    double grad_sq, grad_var; /* |G|^2, tr(Sigma): estimates without bias (noise_scale.h) */
};

struct run_record {
    /* What the run line has, and the end line if that says done: names, counts, times and quality.
     * epochs: planned. No curve, scores, settings or state. */
    struct result run;
    char backend[16]; /* that computed; "" not recorded */
    struct run_epoch *epochs;
    size_t nepochs, capacity;
    char worlds[200];   /* "4 GPUs, 2 from epoch 12 on": where they changed; else "" */
    bool done;          /* the end line has status done */
    bool stopped_early; /* a quality was reached, or got no better: fewer epochs than planned */
    char error[256];    /* of an end line with status failed */
    int exit_code;
};

/* 0, or -1 with ERR_DATA "FILE:LINE: REASON". A last line without a newline is ignored (the writer
 * was killed). Refused: a file without a run line, an unknown schema, a line that is not a JSON
 * object, epochs that do not count from 0, numbers that are missing or not finite, anything behind
 * the end line, more than 64 MiB. */
int run_record_read(const char *path, struct run_record *dst, struct err *e);

void run_record_destroy(struct run_record *r);

#endif
