/* SPDX-License-Identifier: BSD-3-Clause */
/* Dependencies of new jobs: the jobs that --after names, and for --max-in-flight K the job K places
 * before, so that at most K jobs of the study run without an unetctl that supervises them.
 *
 * Each of K lanes ends with a job; the next job depends on the lane whose turn it is ("afterany":
 * however that job ends; a requeued job has not ended). Jobs of the study that are pending or
 * running fill the lanes first, in the order of their ids. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_DEPENDENCY_H
#define UNETCTL_LAUNCHER_SUBMIT_DEPENDENCY_H

#include "launcher/study/workspace.h"

struct dependency {
    char *fixed;                      /* for every job, or NULL */
    char *text;                       /* the last result of dependency_next */
    char (*lanes)[SCHEDULER_ID_SIZE]; /* the last job of each */
    size_t nlanes, next;
};

/* For w->after and w->max_in_flight; jobs: the study's, from the scheduler. 0, or -1 with ERR_USAGE
 * (no such job, run or study) or ERR_SCHED and nothing to close. */
int dependency_open(struct dependency *d, struct workspace *w, struct scheduler *scheduler,
                    const struct job_state *jobs, size_t njobs, struct err *e);
void dependency_close(struct dependency *d);

/* The next job's dependencies for sbatch --dependency, or NULL. Valid until the next call. *failed:
 * out of memory. */
const char *dependency_next(struct dependency *d, bool *failed);

/* Notes that this job was submitted as id. */
void dependency_add(struct dependency *d, const char *id);

#endif
