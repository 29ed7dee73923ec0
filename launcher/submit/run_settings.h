/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings that a run began with, from its run.json. A run keeps them when it resumes. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_RUN_SETTINGS_H
#define UNETCTL_LAUNCHER_SUBMIT_RUN_SETTINGS_H

#include "launcher/study/workspace.h"

/* Makes dst the study of p with the settings of a run that has begun instead. The command line
 * only changes paths and how jobs run. *own_plan, unless NULL, becomes whether the attempt needs
 * its own run.json, because paths differ from those in the run's. A run that never trained
 * (run_dir.h) has the study's settings. Returns 0, and the caller calls study_close, or -1. */
int run_settings_open(const struct plan *p, const char *run, struct study *dst, bool *own_plan,
                      struct err *e);

/* Logs the first difference between the settings of the run, from run_settings_open, and those of
 * the study of p, and whether there are more. Returns 0 or -1: with ERR_USAGE for an option of the
 * command line that would have no effect. */
int run_settings_check(const struct plan *p, const struct run *run, struct err *e);

/* Checks that the run still has the settings in its run.json, if it has trained. Returns 0, or -1
 * with ERR_CONFIG that names the first value that differs. */
int run_settings_compare(const struct plan *p, const struct run *run, struct err *e);

#endif
