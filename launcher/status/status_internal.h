/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share. */
#pragma once

#include "launcher/status/status.h"

/* Fills phase, state, reason, job, nodes, times, exit_code, absent and the submitter of one
 * attempt. job is the scheduler's, entry the ledger's; both may be NULL. A marker decides the
 * state, but for a minute after it was written, a job that still runs is COMPLETING. A job that
 * ended without a marker is ENDED for a minute, in which the marker may still become visible, for
 * example through NFS; unless it was cancelled, or left a checkpoint instead of a marker. Then it
 * has the scheduler's state, but FAILED instead of COMPLETED: its run never counts as done. */
void run_status_decide(struct run_status *s, const struct job_state *job,
                       const struct ledger_entry *entry);

/* Sets the state, with its phase, and the reason, before which the submitter of a run of another
 * user is named. */
void run_status_set(struct run_status *s, enum state state, const char *reason, ...)
    __attribute__((format(printf, 3, 4)));

/* Changes the state of an allocation's job to that of one of its runs, whose attempt is a. */
void status_set_run_state(struct job_state *s, const struct run_attempt *a);

/* Returns the job of one attempt among jobs, which are sorted by tag: the one with this id (that
 * of the job which took the attempt's folder, or NULL), otherwise the newest that is active,
 * otherwise the newest; NULL if there is none. */
const struct job_state *status_find_job(const struct plan *p, const char *run, int attempt,
                                        const char *id, const struct job_state *jobs, size_t njobs);

/* Runs whose job is not in the list of the study's jobs.
 *
 * The list may be some seconds old, it lacks a job whose comment was changed, and it may lack jobs
 * of other users. A job is therefore asked for by its number before it counts as lost: with any
 * owner and any comment, twice, and then in the accounting. Even so it counts only
 * ABSENT_S after the last sign of life, and never if the cluster hides it from this user. */

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
