/* SPDX-License-Identifier: BSD-3-Clause */
/* --dry-run: what would be written for the runs of a plan, without writing anything. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_DRY_RUN_H
#define UNETCTL_LAUNCHER_SUBMIT_DRY_RUN_H

#include "launcher/study/workspace.h"

#define DRY_RUN_OPTION(flag) \
    {"dry-run", 'n', CLI_FLAG, NULL, "print the scripts, and how they differ from those that are " \
     "there; write nothing", &(flag), 0, 0}

/* Print, for each run: its state, run.json and both scripts as they would be, and the unified diff
 * to the files of the last generation. The scheduler is not asked. */
int dry_run_print(struct workspace *w, const struct run_plan *plan, struct err *e);

#endif
