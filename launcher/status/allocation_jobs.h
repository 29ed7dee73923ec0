/* SPDX-License-Identifier: BSD-3-Clause */
/* An allocation is one job that executes many runs of a study (submit --one-allocation,
 * submit/allocation.h). Here it is presented as one job for each of its runs. */
#ifndef UNETCTL_LAUNCHER_STATUS_ALLOCATION_JOBS_H
#define UNETCTL_LAUNCHER_STATUS_ALLOCATION_JOBS_H

#include "launcher/study/run_dir.h"
#include "launcher/study/workspace.h"

/* The names of allocations begin with this. */
#define ALLOCATION_JOBS_PREFIX "allocation-"

/* Replaces the job of each allocation by one job for each of its runs, in the state of that run:
 * as its marker DONE or FAILED says, PENDING if it waits for its turn, SKIPPED if it had no turn
 * before the job ended, CANCELLED if it was cancelled alone, otherwise as the job. An allocation
 * whose list of runs cannot be read is left out, with a warning. *jobs is reallocated. Returns 0,
 * or -1 and leaves *jobs unchanged. */
int allocation_jobs_expand(const struct workspace *w, struct job_state **jobs, size_t *njobs,
                           struct err *e);

/* Changes the state of an allocation's job to that of one of its runs, whose attempt is a. */
void allocation_jobs_set_state(struct job_state *s, const struct run_attempt *a);

/* Cancels one run of an allocation, whose other runs continue. The job's script notices within a
 * few seconds. */
int allocation_jobs_cancel(const struct plan *p, const char *run, int attempt, struct err *e);

#endif
