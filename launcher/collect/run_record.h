/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of record.jsonl (logs/SCHEMA.md), which a trainer appends to while it runs. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RUN_RECORD_H
#define UNETCTL_LAUNCHER_COLLECT_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

struct run_epoch {
    double seconds, loss, lr, images;
    double data_s, compute_s, comm_s, wait_s; /* NaN when the line has none, as the next */
    double val_iou, val_accuracy;
    double grad_sq, grad_var; /* |G|^2, tr(Sigma): estimates without bias (noise_scale.h) */
};

struct run_record {
    char study[128], run[128], engine[32], host[128], started[32];
    int gpus, nodes;
    long seed, epochs_wanted;
    int oversubscribed; /* 1, 0; -1 not said */
    char backend[16];   /* that computed; "" not said */
    char device[128];   /* on which it did; "" likewise */
    int fake_gpus;      /* 1: the backend computes on CPU cores, 0: on GPUs; -1 not said */
    long batch_per_gpu, global_batch, val_images, parameters; /* 0: not said */
    struct run_epoch *epochs;
    size_t nepochs, capacity;

    char worlds[200]; /* "4 GPUs, 2 from epoch 12 on": where they changed; else "" */

    bool done; /* the end line has status done; only then the next are filled */
    bool stopped_early; /* a quality was reached, or got no better: fewer epochs than planned */
    bool by_accuracy;   /* images have a class as a whole: accuracy is their quality */
    double training_time, test_time, startup_s, iou, dice, accuracy, constant, energy_j;
    char error[256]; /* of an end line "failed" */
    int exit_code;
};

/* 0, or -1 with ERR_DATA "FILE:LINE: REASON". A last line without a newline is ignored (the writer
 * was killed). Refused: a file without a run line, an unknown schema, a line that is no JSON
 * object, epochs that do not count from 0, numbers that are missing or not finite, anything behind
 * the end line, more than 64 MiB. */
int run_record_read(const char *path, struct run_record *dst, struct err *e);

void run_record_destroy(struct run_record *r);

#endif
