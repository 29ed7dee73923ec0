/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of every run of a study, from its marker (the file DONE or FAILED), the scheduler, and
 * the ledger (the study's log of submissions). */
#ifndef UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H
#define UNETCTL_LAUNCHER_STATUS_RUN_STATUS_H

#include <jansson.h>

#include "launcher/study/run_dir.h"
#include "launcher/study/workspace.h"

enum run_phase {
    RUN_PLANNED, /* not submitted */
    RUN_ACTIVE,  /* pending or running */
    RUN_GOOD,    /* the marker DONE */
    RUN_BAD,     /* ended without a result, or DAMAGED (run_status.state) */
    RUN_UNKNOWN  /* the scheduler is unreachable */
};

struct run_status {
    struct run run;
    /* the newest attempt (submission); its number is 0 if there is none */
    struct run_attempt attempt;
    struct layout layout; /* of the attempt; it may differ from the planned one */
    enum run_phase phase;
    /* Slurm's names: PENDING RUNNING COMPLETING COMPLETED FAILED TIMEOUT CANCELLED OUT_OF_MEMORY
     * ...; also PLANNED, SKIPPED (its allocation ended before its turn), LOST (the scheduler no
     * longer knows its job), UNKNOWN, and DAMAGED (its plan cannot be read, and it has no active
     * job). */
    char state[24];
    /* Why it is in this state: Slurm's words with their meaning, the error in FAILED, or a text of
     * unetctl; or "". */
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
    struct run_status *runs; /* sorted by id */
    size_t count;
    bool unreachable;  /* some runs are RUN_UNKNOWN */
    struct err reason; /* why the scheduler is unreachable */
    size_t ndamaged;   /* number of runs whose plan cannot be read */
};

/* Fills phase, state, reason, job, nodes, times and exit_code of one attempt. job is the
 * scheduler's, entry the ledger's; both may be NULL. A marker decides the phase, but for a minute
 * after it was written, a job that still runs is COMPLETING. A job that ended without a marker has
 * the scheduler's state, but FAILED in place of COMPLETED: its run never counts as done. */
void run_status_decide(struct run_status *s, const struct job_state *job,
                       const struct ledger_entry *entry);

/* Collects all runs in STUDY/runs, and submitted runs whose folder is gone. Queries each scheduler
 * that has jobs of the study at most once and, if none is unreachable, recalls LOST runs. An
 * unreachable scheduler (see unreachable) and a run.json that cannot be read are not errors here.
 * Returns 0, or -1 and nothing to destroy. */
int run_status_collect(struct workspace *w, struct run_status_list *dst, struct err *e);

/* Looks up all LOST runs of Slurm at once by the ids of their jobs, which the scheduler or its
 * accounting may still know although no job has the attempt's tag (in its comment). With
 * begun_only it leaves out runs whose attempt has not begun. An accounting that does not answer is
 * not an error. */
int run_status_recall(struct workspace *w, struct run_status_list *list, bool begun_only,
                      struct err *e);

/* Returns 0, or -1 with ERR_DATA and what to do if there are damaged runs. */
int run_status_check_damage(const struct run_status_list *list, struct err *e);
const struct run_status *run_status_find(const struct run_status_list *list, const char *run);
void run_status_destroy(struct run_status_list *list);

/* Returns one run as in `status --json`, or NULL if memory ran out. */
json_t *run_status_encode(const struct run_status *s);

/* Stores the jobs of the study that the scheduler of this kind (slurm, local, dry) knows, sorted
 * by tag, then by id; an allocation counts as one job per run. The caller frees *jobs with free().
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
