/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a series before they are compared: completed by what the user knows, and with times
 * that are those of the same work. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_SERIES_ROWS_H
#define UNETCTL_LAUNCHER_ANALYSIS_SERIES_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/series.h"

/* Completes a row with facts that its log lacks, and sets its work to its epochs. If the user chose
 * the epoch of QUANTITY_ONE_EPOCH, its time, or NaN if that is unknown, replaces second_epoch_s. A
 * run that ended at its limit loses quality, loss, energy and the times of a whole run. */
void series_rows_complete(struct result *r, const struct series_facts *facts);

/* Sets what quality and work are in the series, by the first run that has them. All rows then have
 * one measure of quality: a run of which only another is known has none. */
void series_rows_measure(struct series *s, const struct series_facts *facts);

/* Scales times and work of runs whose intervals are steps (result.stepped) to the work of an epoch
 * of the same count, or, if no run has epochs, to that of an interval of the first run; with weak
 * they are in proportion to the GPUs. Where some runs have epochs and the work is unknown, times
 * become NaN. Sets `work` of the whole runs of steps. With weak and without any count
 * of work, that of a GPU is 1. */
void series_rows_scale(struct result *rows, size_t n, bool weak);
#define SERIES_WORK_STEPS 10

#endif
