/* SPDX-License-Identifier: BSD-3-Clause */
/* All series of a table of results. Runs are in one series only if they have the same engine and
 * the same settings, including the batch. Settings that make no difference to a run are ignored
 * (settings_common): a run on one GPU fits series with a global batch and with a batch per GPU. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_SERIES_LIST_H
#define UNETCTL_LAUNCHER_ANALYSIS_SERIES_LIST_H

#include <stddef.h>

#include "launcher/analysis/series.h"
#include "launcher/collect/results/results.h"
#include "src/buf.h"
#include "src/err.h"

struct series_list {
    /* by engine; of one engine in descending order of how many counts have runs with exactly the
     * same settings */
    struct series *items;
    size_t count;
};

/* Fills dst from the sorted table, which must live as long. A run is also in a series whose
 * settings differ only in what makes no difference to the run (settings_common). notes is that
 * of series_compute. Returns 0, or -1 if memory ran out; then the list is empty. */
int series_list_compute(struct series_list *dst, const char *source, const struct results *table,
                        const struct series_facts *facts, struct buf *notes, struct err *e);
void series_list_destroy(struct series_list *l);

#endif
