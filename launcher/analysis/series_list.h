/* SPDX-License-Identifier: BSD-3-Clause */
/* All series of a table of results. Runs stand in one series only if they have the same engine and
 * the same settings; what a setting makes of them (how many GPUs share a batch) is the mode of a
 * series. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_SERIES_LIST_H
#define UNETCTL_LAUNCHER_ANALYSIS_SERIES_LIST_H

#include <stddef.h>

#include "launcher/analysis/series.h"
#include "launcher/collect/results/results.h"
#include "src/buf.h"
#include "src/err.h"

struct series_list {
    struct series *items; /* by engine; of one engine those with the most counts first */
    size_t count;
};

/* Fill dst from the sorted table, which must live as long. A run also stands in a series whose
 * settings differ from its own only in what makes no difference to it (settings_common). notes: as
 * series_compute has them. 0; -1 without memory and with an empty list. */
int series_list_compute(struct series_list *dst, const char *source, const struct results *table,
                        const struct series_facts *facts, struct buf *notes, struct err *e);
void series_list_destroy(struct series_list *l);

#endif
