/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of every run of a study, put together from markers, scheduler and ledger. */
#ifndef UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H
#define UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H

#include <jansson.h>

#include "launcher/study/run_dir.h"
#include "launcher/study/workspace.h"

enum run_phase {
    RUN_PLANNED, /* nothing was submitted */
    RUN_ACTIVE,  /* waits or runs */
    RUN_GOOD,    /* DONE */
    RUN_BAD,     /* ended without a result */
    RUN_UNKNOWN  /* the scheduler, which would know, cannot be asked */
};

struct run_status {
    struct run run;
    struct run_attempt attempt; /* the newest; number 0: none */
    struct layout layout; /* its own, which may not be the planned one */
    enum run_phase phase;
    /* As Slurm names them: PENDING RUNNING COMPLETED FAILED TIMEOUT CANCELLED OUT_OF_MEMORY ...;
     * also PLANNED, LOST (it was submitted, and no one knows it any more), UNKNOWN, and DAMAGED
     * (its plan cannot be read, and no job of it is active). */
    char state[24];
    char reason[512]; /* why it waits or failed, "" for none; behind Slurm's word what it means */
    char job[SCHEDULER_ID_SIZE];
    char scheduler[16]; /* that has the job */
    char nodes[128];
    int exit_code;
    time_t started, ended; /* of the job, 0: not known */
    struct run_progress progress;
    char damage[400]; /* why its plan cannot be read, "" if it can; then run has its id only */
};

struct run_status_list {
    struct run_status *runs; /* by id */
    size_t count;
    bool unreachable;  /* some are RUN_UNKNOWN */
    struct err reason; /* then why */
    size_t ndamaged;   /* whose plan cannot be read */
};

/* The state of one attempt. job: what the scheduler says of it, NULL if it does not know it; entry:
 * what the ledger says, NULL if nothing. A marker decides, though for a minute
 * after it was written a job that still runs is COMPLETING; an ended job without marker has its
 * scheduler's state and is never good. Fills phase, state, reason, job, exit_code. */
void run_status_decide(struct run_status *s, const struct job_state *job,
                       const struct ledger_entry *entry);

/* All runs in STUDY/runs, and those that were submitted and have no folder there any more, by what
 * the ledger says now. Asks each scheduler that has jobs of the study at most once. A scheduler
 * that cannot be asked is no error here: see unreachable; nor is a run.json that cannot be read. */
int run_status_collect(struct workspace *w, struct run_status_list *dst, struct err *e);
/* ERR_DATA if there are damaged ones, with what to do. */
/* Asks for runs that are LOST, which the scheduler does not know by their tag any more: it may by
 * their job's id, or accounting may. One question for all of them. */
int run_status_recall(struct workspace *w, struct run_status_list *list, bool begun_only,
                      struct err *e);
int run_status_check_damage(const struct run_status_list *list, struct err *e);
const struct run_status *run_status_find(const struct run_status_list *list, const char *run);
void run_status_destroy(struct run_status_list *list);

/* One run as `status --json` has it; NULL without memory. */
json_t *run_status_encode(const struct run_status *s);

/* The jobs of the study that the scheduler knows, by tag and then by id; freed as
 * scheduler_query's. */
int run_status_query(struct workspace *w, const char *kind, struct job_state **jobs, size_t *njobs,
                     struct err *e);

/* The job of one attempt among jobs, sorted by tag: the one that took the attempt directory, else
 * the newest that is still active, else the newest; NULL if there is none. */
const struct job_state *run_status_find_job(const struct workspace *w, const char *run, int attempt,
                                            const char *id, const struct job_state *jobs,
                                            size_t njobs);

#endif
