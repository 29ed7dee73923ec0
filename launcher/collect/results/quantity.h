/* SPDX-License-Identifier: BSD-3-Clause */
/* What is measured of a run, each thing under one name. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_QUANTITY_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_QUANTITY_H

#include "launcher/collect/results/results.h"

enum quantity {
    /* Times. A speed-up and an efficiency are made of each. */
    QUANTITY_STARTUP,      /* process start to first step */
    QUANTITY_FIRST_EPOCH,  /* the epoch of index 0, which warms up */
    QUANTITY_ONE_EPOCH, /* one alone (series_facts.epoch), by which the reference notebook
                         * compares */
    QUANTITY_STEADY_EPOCH, /* median of the epochs after the first */
    QUANTITY_COMM,         /* exposed communication in a steady epoch */
    QUANTITY_DATA,         /* wait for data in a steady epoch */
    QUANTITY_EVALUATION,   /* test_time */
    QUANTITY_TRAINING,     /* all epochs */
    QUANTITY_WHOLE,        /* start-up + training + evaluation, as far as they are known */
    QUANTITY_NTIMES,
    /* The rest. */
    QUANTITY_IMAGES = QUANTITY_NTIMES, /* really processed in an epoch, all ranks */
    QUANTITY_RATE,                     /* images per second of a steady epoch */
    QUANTITY_LOSS,                     /* of the last epoch */
    QUANTITY_IOU, /* or the accuracy: result_quality */
    QUANTITY_DICE,
    QUANTITY_ENERGY, /* kWh, recorded, or watts per GPU x GPU-seconds */
    QUANTITY_COUNT
};

/* "steady_epoch_s", for keys of JSON and columns. */
const char *quantity_key(enum quantity q);
/* "steady epoch" */
const char *quantity_name(enum quantity q);
/* One sentence that defines it. */
const char *quantity_definition(enum quantity q);

/* NaN when the run does not know it. */
double quantity_of(const struct result *r, enum quantity q);

/* Writes what rows[0..n) know of q to dst; returns how many that are. */
size_t quantity_collect(const struct result *rows, size_t n, enum quantity q, double *dst);

#endif
