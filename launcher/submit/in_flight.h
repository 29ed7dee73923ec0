/* SPDX-License-Identifier: BSD-3-Clause */
/* A submission whose answer was lost because the helper was killed or Slurm did not answer in time.
 *
 * Slurm may still execute it: a request in the queue of a stopped controller becomes a job when the
 * controller runs again. The helper keeps the file STUDY/.unetctl/in-flight while an answer is due,
 * for the next submission. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_IN_FLIGHT_H
#define UNETCTL_LAUNCHER_SUBMIT_IN_FLIGHT_H

#include <limits.h>

#include "launcher/scheduler/scheduler.h"
#include "launcher/study/ledger.h"

void in_flight_path(const struct ledger *l, char dst[PATH_MAX]);

/* If an answer was lost, waits until its job has appeared or can no longer appear. Under the
 * ledger's lock, before the query for the study's jobs. 0, or -1 with ERR_SCHED if the scheduler
 * cannot be asked. */
int in_flight_settle(const struct ledger *l, struct scheduler *scheduler, struct err *e);

#endif
