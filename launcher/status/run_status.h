/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of every run of a study, from its marker (the file DONE or FAILED), the scheduler, and
 * the ledger (the study's log of submissions). */
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

struct run_status_list {
    struct run_status *runs; /* in the order of strverscmp */
    size_t count;
    bool unreachable;  /* the scheduler could not be asked about some runs */
    struct err reason; /* why the scheduler is unreachable */
    size_t ndamaged;   /* number of runs whose plan cannot be read */
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

/* Collects all runs in STUDY/runs, and submitted runs whose folder is gone. Queries each scheduler
 * that has jobs of the study at most once and, if none is unreachable, asks for absent jobs
 * (absent.h). An unreachable scheduler (see unreachable) and a run.json that cannot be read are
 * not errors here. Returns 0, or -1 and nothing to destroy. */
int run_status_collect(struct workspace *w, struct run_status_list *dst, struct err *e);

/* Returns 0, or -1 with ERR_DATA and what to do if there are damaged runs. */
int run_status_check_damage(const struct run_status_list *list, struct err *e);
const struct run_status *run_status_find(const struct run_status_list *list, const char *run);
void run_status_destroy(struct run_status_list *list);

/* Returns one run as in `status --json`, or NULL if memory ran out. */
json_t *run_status_encode(const struct run_status *s);

/* Stores the jobs of the study that the scheduler of this kind (slurm, local, dry) lists, sorted by
 * tag, then by id; an allocation counts as one job per run. If other users have submitted runs of
 * this study, theirs are included. The caller frees *jobs with free().
 * Returns 0, or -1 and nothing to free. */
int run_status_query(struct workspace *w, const char *kind, struct job_state **jobs, size_t *njobs,
                     struct err *e);

/* Returns the job of one attempt among jobs, which are sorted by tag: the one with this id (that
 * of the job which took the attempt's folder, or NULL), otherwise the newest that is active,
 * otherwise the newest; NULL if there is none. */
const struct job_state *run_status_find_job(const struct workspace *w, const char *run, int attempt,
                                            const char *id, const struct job_state *jobs,
                                            size_t njobs);

#endif
