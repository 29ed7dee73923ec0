/* SPDX-License-Identifier: BSD-3-Clause */
/* The quantities that are measured of a run, each with one name. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_QUANTITY_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_QUANTITY_H

#include "launcher/collect/results/results.h"

enum quantity {
    /* Times, from each of which a speed-up and an efficiency are computed. */
    QUANTITY_STARTUP,      /* from process start to the first step */
    QUANTITY_FIRST_EPOCH,  /* the epoch with index 0, which includes warming up */
    /* A single epoch (series_facts.epoch), which the reference notebook compares. */
    QUANTITY_ONE_EPOCH,
    QUANTITY_STEADY_EPOCH, /* median of the epochs after warming up */
    QUANTITY_COMM,         /* exposed communication in a steady epoch */
    QUANTITY_DATA,         /* wait for data in a steady epoch */
    QUANTITY_EVALUATION,   /* test_time */
    QUANTITY_TRAINING,     /* all epochs */
    QUANTITY_WHOLE,        /* training + stage-in, start-up, evaluation if known */
    QUANTITY_NTIMES,
    /* Other quantities. */
    QUANTITY_STAGE = QUANTITY_NTIMES, /* seconds of copying the data to the nodes (data.stage) */
    QUANTITY_UNITS, /* of work (images, words ...) that all ranks processed in an epoch */
    QUANTITY_RATE,                     /* these per second of a steady epoch */
    QUANTITY_LOSS,                     /* of the last epoch */
    QUANTITY_QUALITY, /* IoU, accuracy, or what the log names (result_quality) */
    QUANTITY_IOU_OWN_SIZE,
    QUANTITY_DICE,
    QUANTITY_ENERGY, /* kWh: measured, or computed from watts per GPU x GPU-seconds */
    QUANTITY_UNIT_ENERGY, /* joules per unit of work in a steady epoch, measured */
    QUANTITY_CPU_ENERGY,  /* kWh of the CPU packages, measured */
    QUANTITY_NODE_ENERGY, /* kWh of whole nodes, by Slurm */
    QUANTITY_GPU_POWER,   /* watts of a GPU */
    QUANTITY_GPU_BUSY, QUANTITY_GPU_THROTTLED, /* shares of the time */
    QUANTITY_GPU_MEMORY,                       /* MiB */
    QUANTITY_COUNT
};

/* "steady_epoch_s", for JSON keys and columns */
const char *quantity_key(enum quantity q);
/* "steady epoch" */
const char *quantity_name(enum quantity q);
/* Returns one sentence that defines the quantity. */
const char *quantity_definition(enum quantity q);

/* Returns the quantity of a run, or NaN if it is unknown. */
double quantity_of(const struct result *r, enum quantity q);

/* Copies the known values of q in rows[0..n) to dst and returns their number. */
size_t quantity_collect(const struct result *rows, size_t n, enum quantity q, double *dst);

#endif
