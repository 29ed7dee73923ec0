/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings that a run began with, from its run.json. A run keeps them when it resumes. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_RUN_SETTINGS_H
#define UNETCTL_LAUNCHER_SUBMIT_RUN_SETTINGS_H

#include "launcher/study/workspace.h"

/* Opens in dst the workspace w with the settings of a run that has begun instead of the study's.
 * The command line may only change places of files and how jobs run; other changes are
 * ERR_USAGE. own_plan: an attempt needs its own run.json, as files were moved. dst borrows from
 * w. 0, or -1 with nothing to close. */
int run_settings_open(const struct workspace *w, const char *run, struct workspace *dst,
                      bool *own_plan, struct err *e);
void run_settings_close(struct workspace *w);

/* Logs the differences between the settings of own, as opened above, and the study's. 0 or -1. */
int run_settings_log(const struct workspace *w, const struct workspace *own, const struct run *run,
                      struct err *e);

/* Checks that the study still has the settings of a run. 0, or -1 with ERR_CONFIG and the value. */
int run_settings_compare(const struct workspace *w, const struct run *run, struct err *e);

#endif
