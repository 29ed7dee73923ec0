/* SPDX-License-Identifier: BSD-3-Clause */
/* What state the runs of a study are in, why, and what to type next.
 *
 * A state is decided in one place, from three sources: the run's folder (workspace.h: the markers
 * DONE and FAILED, and what else the job wrote), the ledger (what was submitted, cancelled or
 * refused) and the scheduler's job. status, watch, collect, submit, resume, cancel and the live
 * page all ask here.
 *
 * status.c lists the jobs of the study, with one job for each run of an allocation, and decides.
 * absent.c asks for jobs that are not listed, before they count as lost. watch.c (watch.h) follows
 * runs until they end, and sums up many in one line.
 *
 * A state is never better than what was seen: DONE is the marker and nothing else, and a job counts
 * as lost only after it was asked for by its number, twice, and in the accounting. Read
 * run_status_decide first, then decide_run. */
#pragma once

#include "src/base.h"

#include <jansson.h>
#include <time.h>

#include "launcher/scheduler/job.h"
#include "launcher/study/workspace.h"

struct run_status {
    struct run run;
    /* the newest attempt (submission); its number is 0 if there is none */
    struct run_attempt attempt;
    struct layout layout; /* of the attempt; it may differ from the planned one */
    enum run_phase phase; /* that of state */
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

/* Returns whether the run was submitted by another user. */
bool run_status_is_others(const struct run_status *s);

/* Returns whether the run must be left to that user, since --take-over is not given. */
bool run_status_is_foreign(const struct workspace *w, const struct run_status *s);

/* Returns one run as in `status --json`, or NULL if memory ran out. */
json_t *run_status_encode(const struct run_status *s);

struct status_list {
    struct run_status *runs; /* in the order of strverscmp */
    size_t count;
    bool unreachable;  /* the scheduler could not be asked about some runs */
    struct err reason; /* why the scheduler is unreachable */
    size_t ndamaged;   /* number of runs whose plan cannot be read */
    /* the study's jobs of the scheduler that new jobs go to, by tag, then by id; none if it was not
     * asked */
    struct job_state *jobs;
    size_t njobs;
};

/* Collects all runs in STUDY/runs, and submitted runs whose folder is gone. Queries each scheduler
 * that has jobs of the study at most once and, if none is unreachable, asks for absent jobs. An
 * unreachable scheduler (see unreachable) and a run.json that cannot be read are not errors here.
 * Returns 0, or -1 and nothing to destroy. */
int status_list_collect(struct workspace *w, struct status_list *dst, struct err *e);

/* Does the same for the runs of a plan, in its order, with two differences: the scheduler that new
 * jobs go to is always asked, and an error if it is unreachable; run.json and progress are not
 * read. */
int status_list_decide(struct workspace *w, const struct plan *plan, struct status_list *dst,
                       struct err *e);

/* Returns the first of the jobs of list, which are sorted, with this tag, or NULL; *n becomes the
 * number of those with it. */
const struct job_state *status_list_jobs(const struct status_list *list, const char *tag,
                                         size_t *n);

/* Returns 0, or -1 with ERR_DATA and what to do if there are damaged runs. */
int status_list_check_damage(const struct status_list *list, struct err *e);
const struct run_status *status_list_find(const struct status_list *list, const char *run);
void status_list_destroy(struct status_list *list);

/* The names of allocations begin with this. */
#define ALLOCATION_JOBS_PREFIX "allocation-"

/* Cancels one run of an allocation, whose other runs continue. The job's script notices within a
 * few seconds. */
int allocation_jobs_cancel(const struct plan *p, const char *run, int attempt, struct err *e);

/* Seconds after its submission, and after the last file that it wrote, for which a job that is not
 * shown is not lost. UNETCTL_ABSENT_S replaces it in tests. */
#define ABSENT_S 120
double absent_wait_s(void);
