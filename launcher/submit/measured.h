/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs of the study that are done have measured, for plans of others like them. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_MEASURED_H
#define UNETCTL_LAUNCHER_SUBMIT_MEASURED_H

#include "launcher/study/run_json.h"
#include "launcher/study/workspace.h"

/* Sets seconds[i] to the time of training that run i of plan is expected to need: the mean over the
 * runs of the study, or of the run's variant, with the same engine, model and number of GPUs that
 * were done in their first attempt with the settings that it has now; 0 if there are none. Runs
 * that cannot be read are left out. Returns 0, or -1 if memory ran out. */
int measured_collect(const struct plan *plan, double *seconds, struct err *e);

#endif
