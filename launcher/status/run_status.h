/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of one run, from its marker (the file DONE or FAILED), the scheduler, and the ledger
 * (the study's log of submissions). */
#ifndef UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H
#define UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H

#include <jansson.h>

#include "launcher/study/run_dir.h"
#include "launcher/study/workspace.h"

struct run_status {
    struct run run;
    /* the newest attempt (submission); its number is 0 if there is none */
    struct run_attempt attempt;
    struct layout layout; /* of the attempt; it may differ from the planned one */
    enum run_phase phase; /* that of state, unless submission.c has decided otherwise */
    enum state state;
    bool held;   /* its job waits until it is released */
    bool absent; /* it should have a job, but was decided without one */
    long uid;      /* who submitted it; -1: unknown, or it was refused */
    char user[64]; /* the name of this user, or "" */
    /* Why it is in this state: the scheduler's reason with its meaning, the error in FAILED, or a
     * text of unetctl; or "". */
    char reason[512];
    char job[SCHEDULER_ID_SIZE];
    char scheduler[16]; /* the kind of scheduler that has the job, or that a first job will go to */
    char nodes[128];
    int exit_code;
    time_t started, ended; /* of the job; 0: unknown */
    struct run_progress progress;
    /* why its plan (run.json) cannot be read; then of run only the id is sure to be set. "" if it
     * can */
    char damage[400];
};

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
void run_status_add(struct run_status *s, const char *words); /* appends to the reason */

/* Returns whether the run was submitted by another user. */
bool run_status_is_others(const struct run_status *s);

/* Returns whether the run must be left to that user, since --take-over is not given. */
bool run_status_is_foreign(const struct workspace *w, const struct run_status *s);

/* Returns whether the marker was written so recently that the run's job may still be ending. Rank 0
 * writes it while the job runs; for a minute the run counts as finished only when its job is. */
bool run_status_may_be_ending(const struct run_status *s);

/* Returns one run as in `status --json`, or NULL if memory ran out. */
json_t *run_status_encode(const struct run_status *s);

#endif
