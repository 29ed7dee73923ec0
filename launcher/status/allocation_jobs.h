/* SPDX-License-Identifier: BSD-3-Clause */
/* The job of an allocation (submit/allocation.h), presented as one job for each of its runs. */
#ifndef UNETCTL_LAUNCHER_STATUS_ALLOCATION_JOBS_H
#define UNETCTL_LAUNCHER_STATUS_ALLOCATION_JOBS_H

#include "launcher/study/workspace.h"

/* The names of allocations begin with this. */
#define ALLOCATION_JOBS_PREFIX "allocation-"

/* Replaces the job of each allocation by one job for each of its runs, in the state of that run:
 * PENDING if the run waits for its turn, SKIPPED if it had no turn before the job ended. *jobs
 * is reallocated. */
int allocation_jobs_expand(const struct workspace *w, struct job_state **jobs, size_t *njobs,
                           struct err *e);

/* Cancels one run of the job that it shares. The job's script notices within a few seconds. */
int allocation_jobs_cancel(const struct workspace *w, const char *run, int attempt, struct err *e);

#endif
