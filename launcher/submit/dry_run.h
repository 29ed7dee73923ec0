/* SPDX-License-Identifier: BSD-3-Clause */
/* --dry-run prints the files of a plan's runs instead of writing them. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_DRY_RUN_H
#define UNETCTL_LAUNCHER_SUBMIT_DRY_RUN_H

#include "launcher/study/workspace.h"

#define DRY_RUN_OPTION(flag)                                                           \
    {"dry-run", 'n', CLI_FLAG, NULL,                                                   \
     "print the scripts and their differences from present ones; write nothing",       \
     &(flag), 0, 0}

/* Prints for each run that has not begun run.json and both scripts as they would be written, and
 * the differences from the current files as a unified diff; for one that has begun, only that it
 * has. With --one-allocation prints that job's script, too. Does not query the scheduler. If the
 * study has no id yet, a placeholder is shown. Returns 0, or -1. */
int dry_run_print(const struct plan *plan, struct err *e);

#endif
