/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs whose job is not in the list of the study's jobs.
 *
 * The list may be some seconds old, it lacks a job whose comment was changed, and it may lack jobs
 * of other users. A job is therefore asked for by its number before it counts as lost: with any
 * owner and any comment, twice, and then in the accounting. Even so it counts only
 * ABSENT_S after the last sign of life, and never if the cluster hides it from this user. */
#ifndef UNETCTL_LAUNCHER_STATUS_ABSENT_H
#define UNETCTL_LAUNCHER_STATUS_ABSENT_H

#include "launcher/status/run_status.h"

/* Seconds after its submission, and after the last file that it wrote, for which a job that is not
 * shown is not lost. UNETCTL_ABSENT_S replaces it in tests. */
#define ABSENT_S 120
double absent_wait_s(void);

/* Decides the runs that are absent (run_status.absent). Returns 0; 1, with the reason, if the
 * scheduler cannot be asked, and they become UNKNOWN; or -1. */
int absent_resolve(struct workspace *w, struct run_status *runs, size_t count, struct err *e);

/* What is known of the job of a run besides its number. */
struct absent_claim {
    const char *study; /* the prefix of the study's tags */
    const char *tag;   /* "unetctl:STUDY_ID:RUN:ATTEMPT" */
    const char *name;
    const char *allocation; /* the prefix of the names of the study's allocations */
    long uid;               /* -1: unknown */
    time_t asked;           /* when it was submitted; 0: unknown */
    time_t began;           /* when it took the attempt's folder; 0: unknown */
};

/* Returns whether a job with the run's number is the run's job. Slurm uses numbers again, after a
 * new installation for example. */
bool absent_is_same(const struct absent_claim *claim, const struct job_state *job);

#endif
