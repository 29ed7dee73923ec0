/* SPDX-License-Identifier: BSD-3-Clause */
/* A submission whose answer was lost: the helper was killed, or Slurm did not answer in time.
 *
 * Slurm may still carry it out: a request that lies in the queue of a stopped controller becomes a
 * job when it runs again. The file STUDY/.unetctl/in-flight, which the helper keeps while an answer
 * is due, tells that to whoever submits next. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_IN_FLIGHT_H
#define UNETCTL_LAUNCHER_SUBMIT_IN_FLIGHT_H

#include <limits.h>

#include "launcher/scheduler/scheduler.h"
#include "launcher/study/ledger.h"

void in_flight_path(const struct ledger *l, char dst[PATH_MAX]);

/* If an answer was lost, wait until its job has appeared or can no longer come. Under the ledger's
 * lock, before the jobs of the study are asked for. 0, or -1 with ERR_SCHED when the scheduler
 * cannot be asked. */
int in_flight_settle(const struct ledger *l, struct scheduler *scheduler, struct err *e);

#endif
