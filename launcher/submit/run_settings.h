/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings that a run began with. They stand in its run.json, and hold whenever it resumes. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_RUN_SETTINGS_H
#define UNETCTL_LAUNCHER_SUBMIT_RUN_SETTINGS_H

#include "launcher/study/workspace.h"

/* Opens in dst the workspace w with the settings of a run that has begun in place of the study's.
 * Of what the command line sets, only the places of files and what says how jobs run may differ
 * from them; anything else is ERR_USAGE. own_plan: an attempt needs a run.json of its own, as files
 * have moved. dst borrows from w. 0, or -1 with nothing to close. */
int run_settings_open(const struct workspace *w, const char *run, struct workspace *dst,
                      bool *own_plan, struct err *e);
void run_settings_close(struct workspace *w);

/* Logs how the settings of own, as opened above, differ from the study's, if they do. 0 or -1. */
int run_settings_tell(const struct workspace *w, const struct workspace *own, const struct run *run,
                      struct err *e);

/* Does the study still say what a run began with? 0, or -1 with ERR_CONFIG that names the value. */
int run_settings_compare(const struct workspace *w, const struct run *run, struct err *e);

#endif
