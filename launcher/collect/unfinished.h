/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs without a marker: the ledger and the scheduler know whether they wait, run, or were
 * killed. */
#ifndef UNETCTL_LAUNCHER_COLLECT_UNFINISHED_H
#define UNETCTL_LAUNCHER_COLLECT_UNFINISHED_H

#include "launcher/collect/results/results.h"
#include "launcher/status/run_status.h"
#include "launcher/study/workspace.h"

/* Give each RESULT_UNFINISHED row its state. The scheduler is asked only if there is such a row;
 * where it can't be reached, rows stay unfinished and their notes say so. */
void unfinished_resolve(struct workspace *w, struct results *table);

/* One row by what is known of its run. */
void unfinished_decide(struct result *r, const struct run_status *status);

#endif
