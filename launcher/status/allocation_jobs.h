/* SPDX-License-Identifier: BSD-3-Clause */
/* The job of an allocation (submit/allocation.h), seen as one job for each of its runs. */
#ifndef UNETCTL_LAUNCHER_STATUS_ALLOCATION_JOBS_H
#define UNETCTL_LAUNCHER_STATUS_ALLOCATION_JOBS_H

#include "launcher/study/workspace.h"

/* What the names of allocations begin with. */
#define ALLOCATION_JOBS_PREFIX "allocation-"

/* Replaces each job of an allocation by one for each of its runs, in the state of that run: one
 * that waits for its turn is PENDING, one that had none when the job ended is SKIPPED. *jobs is
 * reallocated. */
int allocation_jobs_expand(const struct workspace *w, struct job_state **jobs, size_t *njobs,
                           struct err *e);

/* Let a run leave the job that it shares: the job's script looks every few seconds. */
int allocation_jobs_cancel(const struct workspace *w, const char *run, int attempt, struct err *e);

#endif
