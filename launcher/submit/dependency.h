/* SPDX-License-Identifier: BSD-3-Clause */
/* What new jobs wait for: the jobs that --after names, and for --max-in-flight K the job K places
 * before, so that never more than K of the study run and no unetctl has to stay for that.
 *
 * K lanes each end with a job; the next job goes behind the lane that is due ("afterany": however
 * that job ends; a requeued one has not ended). Jobs of the study that still wait or run fill the
 * lanes at first, in the order of their ids. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_DEPENDENCY_H
#define UNETCTL_LAUNCHER_SUBMIT_DEPENDENCY_H

#include "launcher/study/workspace.h"

struct dependency {
    char *fixed;                      /* for every job, or NULL */
    char *text;                       /* as told last */
    char (*lanes)[SCHEDULER_ID_SIZE]; /* the last job of each */
    size_t nlanes, next;
};

/* For w->after and w->max_in_flight; jobs: those that the scheduler has of this study. 0, or -1
 * with ERR_USAGE (no such job, run or study) or ERR_SCHED and nothing to close. */
int dependency_open(struct dependency *d, struct workspace *w, struct scheduler *scheduler,
                    const struct job_state *jobs, size_t njobs, struct err *e);
void dependency_close(struct dependency *d);

/* What the next job waits for, as sbatch's --dependency has it; NULL for nothing. Valid until the
 * next call. ERR_INTERNAL (no memory) through *failed. */
const char *dependency_next(struct dependency *d, bool *failed);

/* That job was submitted as id. */
void dependency_add(struct dependency *d, const char *id);

#endif
