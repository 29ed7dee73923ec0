/* SPDX-License-Identifier: BSD-3-Clause */
/* Which runs scale strongly and which weakly: they never stand in one series. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_MODE_H
#define UNETCTL_LAUNCHER_ANALYSIS_MODE_H

#include <stddef.h>

#include "launcher/analysis/series.h"
#include "launcher/collect/results/results.h"
#include "src/buf.h"

/* A run can be in both: the base case is. */
enum mode_group { MODE_NEITHER = 0, MODE_PER_GPU = 1, MODE_GLOBAL = 2, MODE_BOTH = 3 };

struct mode_split {
    int n; /* series that come of it, 0 to SERIES_MAX */
    enum mode_group groups[SERIES_MAX];
    enum series_mode modes[SERIES_MAX];
    long batch_per_gpu, global_batch; /* of the groups; 0: not known */
};

/* rows[0..n) of one engine, ascending counts. groups[i]: the groups that rows[i] belongs to. All
 * runs of one batch per GPU, or of one global batch, or of unknown batches, are one series.
 * Otherwise there are two: around the batch per GPU, and around the global batch, that most counts
 * have. */
struct mode_split mode_decide(const struct result *rows, size_t n, enum mode_group *groups);

/* One line when the study mixes the two, one more for the runs that fit neither. */
void mode_explain(const struct mode_split *split, const struct result *rows,
                  const enum mode_group *groups, size_t n, const char *source, struct buf *notes);

#endif
