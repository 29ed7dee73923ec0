/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the state of runs without a marker (waiting, running, killed) from the ledger, which
 * lists the submitted jobs, and the scheduler. */
#ifndef UNETCTL_LAUNCHER_COLLECT_UNFINISHED_H
#define UNETCTL_LAUNCHER_COLLECT_UNFINISHED_H

#include "launcher/collect/results/results.h"
#include "launcher/status/status.h"
#include "launcher/study/workspace.h"

/* Sets the state of each RESULT_UNFINISHED row. The scheduler is queried only if there is such a
 * row; if it is unreachable, rows stay unfinished with a note. */
void unfinished_resolve(struct workspace *w, struct results *table);

/* Sets the state and the note of one row from the status of its run. */
void unfinished_decide(struct result *r, const struct run_status *status);

#endif
