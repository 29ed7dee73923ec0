/* SPDX-License-Identifier: BSD-3-Clause */
/* Speed-up and efficiency of one engine's runs, by the count of GPUs. Pure functions.
 *
 *   S(N) = T(base) / T(N)        E(N) = S(N) base / N        base: the smallest count measured
 *
 * Times of several seeds are summed up first (median), then divided: ratios are never averaged.
 * Where both sides know how many images they really processed, steady efficiency is taken from
 * images per second, so that dropped remainders don't look like speed. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_SCALING_H
#define UNETCTL_LAUNCHER_ANALYSIS_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/collect/results.h"
#include "src/err.h"

/* Over the seeds of a count; NaN where nothing is known. */
struct scaling_spread {
    double median, min, max;
    size_t count; /* runs that know the value */
};

struct scaling_point {
    int gpus, nodes;
    size_t nruns;
    struct scaling_spread first_epoch_s, second_epoch_s, epoch_s; /* epoch_s: median steady epoch */
    struct scaling_spread training_time, test_time, startup_s, comm_s, data_s;
    struct scaling_spread images, images_per_s, loss, iou, dice;
    double speedup_total;  /* by training time */
    double speedup_steady; /* by median steady epoch */
    double speedup_second; /* by the epoch of index 1, as the reference notebook does */
    double efficiency_total, efficiency;
    double gpu_hours; /* gpus x training time */
    bool oversubscribed;
};

struct scaling {
    char engine[32];
    struct scaling_point *points; /* ascending counts; [0] is the base case */
    size_t npoints;
    bool by_images; /* efficiency is from images per second */
};

/* The good runs of engine in table, which is sorted. No good run gives no point. 0, or -1 without
 * memory. scaling_destroy frees. */
int scaling_compute(struct scaling *s, const struct results *table, const char *engine, struct err *e);

void scaling_destroy(struct scaling *s);

/* The next engine in the sorted table: *row starts at 0 and moves. NULL at the end. */
const char *scaling_next_engine(const struct results *table, size_t *row);

/* What an ideal machine does with gpus: gpus / base. */
double scaling_ideal(const struct scaling *s, int gpus);

#endif
