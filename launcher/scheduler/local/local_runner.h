/* SPDX-License-Identifier: BSD-3-Clause */
/* The runner of a submission to the local queue: a process that outlives unetctl, runs the scripts
 * of the jobs in their turn, each in a session of its own, enforces time limits, and writes the
 * jobs' records. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_RUNNER_H
#define UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_RUNNER_H

#include "launcher/scheduler/local/local_record.h"

/* Starts a runner of these jobs in the queue's folder dir, and returns when each has a record, or
 * one was refused. Until then the runner shares the caller's locks: a process that takes the
 * ledger's lock sees all jobs, even if the caller was killed. */
void local_runner_start(const char *dir, int max_in_flight, const struct job *jobs, size_t count,
                        struct scheduler_result *results);

/* Asks the runner to cancel this job. Returns 0, or -1. */
int local_runner_cancel(const struct local_record *r, struct err *e);

#endif
