/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of runs without a marker (waiting, running, killed), from the ledger and the
 * scheduler. */
#ifndef UNETCTL_LAUNCHER_COLLECT_UNFINISHED_H
#define UNETCTL_LAUNCHER_COLLECT_UNFINISHED_H

#include "launcher/collect/results/results.h"
#include "launcher/status/run_status.h"
#include "launcher/study/workspace.h"

/* Gives each RESULT_UNFINISHED row its state. The scheduler is asked only if there is such a row;
 * where it can't be reached, rows stay unfinished with a note. */
void unfinished_resolve(struct workspace *w, struct results *table);

/* One row by what is known of its run. */
void unfinished_decide(struct result *r, const struct run_status *status);

#endif
