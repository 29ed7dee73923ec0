/* SPDX-License-Identifier: BSD-3-Clause */
/* Dependencies of new jobs: the jobs that --after names, sbatch's --dependency if it is given and,
 * for --max-in-flight K with Slurm, the job submitted K jobs earlier. At most K jobs of the study
 * then run at a time, and no process has to supervise them.
 *
 * There are K lanes, each with the last job submitted to it. A new job depends on the job of the
 * lane whose turn it is, by "afterany": however that job ends (a requeued job has not ended). At
 * first the lanes hold the study's newest K pending and running jobs, in the order of their
 * ids. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_DEPENDENCY_H
#define UNETCTL_LAUNCHER_SUBMIT_DEPENDENCY_H

#include "launcher/study/workspace.h"

struct dependency {
    char *fixed;                      /* dependencies of every job, or NULL */
    char *text;                       /* what dependency_next returned last */
    char (*lanes)[SCHEDULER_ID_SIZE]; /* the last job of each lane */
    size_t nlanes;                    /* K; 0 without --max-in-flight or without Slurm */
    size_t next;                      /* the lane whose turn it is */
};

/* Prepares the dependencies of the plan's after and max_in_flight. jobs are the study's, from the
 * scheduler. Returns 0, or -1 with ERR_USAGE (no such job, run or study) or ERR_SCHED; then
 * there is nothing to close. */
int dependency_open(struct dependency *d, struct workspace *w, struct scheduler *scheduler,
                    const struct job_state *jobs, size_t njobs, struct err *e);
void dependency_close(struct dependency *d);

/* Returns the next job's dependencies for sbatch --dependency, or NULL if it has none, valid
 * until the next call. *failed is set if memory ran out. */
const char *dependency_next(struct dependency *d, bool *failed);

/* Makes id the last job of the lane whose turn it is; it is then the next lane's turn. Does
 * nothing without lanes. */
void dependency_add(struct dependency *d, const char *id);

#endif
