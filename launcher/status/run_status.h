/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of every run of a study, from markers, scheduler and ledger. */
#ifndef UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H
#define UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H

#include <jansson.h>

#include "launcher/study/run_dir.h"
#include "launcher/study/workspace.h"

enum run_phase {
    RUN_PLANNED, /* not submitted */
    RUN_ACTIVE,  /* pending or running */
    RUN_GOOD,    /* DONE */
    RUN_BAD,     /* ended without a result */
    RUN_UNKNOWN  /* the scheduler is unreachable */
};

struct run_status {
    struct run run;
    struct run_attempt attempt; /* the newest; number 0: none */
    struct layout layout; /* of the attempt, which may not be the planned one */
    enum run_phase phase;
    /* Slurm's names: PENDING RUNNING COMPLETED FAILED TIMEOUT CANCELLED OUT_OF_MEMORY ...; also
     * PLANNED, LOST (the scheduler does not know its job any more), UNKNOWN, and DAMAGED (its plan
     * cannot be read, and it has no active job). */
    char state[24];
    char reason[512]; /* why it is pending or failed: Slurm's word and its meaning; or "" */
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

/* Fills phase, state, reason, job and exit_code of one attempt. job: the scheduler's, or NULL;
 * entry: the ledger's, or NULL. A marker decides, but for a minute after it was written a job
 * that still runs is COMPLETING. A job that ended without a marker has the scheduler's state and
 * is never good. */
void run_status_decide(struct run_status *s, const struct job_state *job,
                       const struct ledger_entry *entry);

/* All runs in STUDY/runs, and submitted runs whose folder is gone. Asks each scheduler that has
 * jobs of the study at most once. An unreachable scheduler (see unreachable) and a run.json that
 * cannot be read are not errors here. */
int run_status_collect(struct workspace *w, struct run_status_list *dst, struct err *e);

/* Asks for all LOST runs at once by the ids of their jobs, which the scheduler or accounting may
 * know although the tag is not found. */
int run_status_recall(struct workspace *w, struct run_status_list *list, bool begun_only,
                      struct err *e);

/* ERR_DATA, with what to do, if there are damaged runs. */
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
