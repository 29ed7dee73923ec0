/* SPDX-License-Identifier: BSD-3-Clause */
/* Attempts that are submitted by one call. */
#pragma once

#include "launcher/submit/attempt.h"
#include "launcher/scheduler/scheduler.h"
#include "launcher/study/workspace.h"

struct batch {
    struct batch_item {
        struct run run;
        int attempt;
        int from; /* the earlier attempt whose checkpoint it resumes from; 0: none */
    } * items;
    size_t count, capacity;
    size_t submitted;
    bool is_full;     /* the scheduler's limit left some items for later */
    struct err limit; /* which limit that is */
};

/* Adds an item; run is copied. Returns 0, or -1. */
int batch_add(struct batch *b, const struct run *run, int attempt, struct err *e);

/* Checks the largest job, writes and syncs the files of all items, and submits them in their order:
 * each is noted as "submitting" in the ledger before, and with its result afterwards. The files
 * come before the check where it needs a script: of templates with directives of their own, and
 * with --one-allocation, by which one job is that of all items. jobs are the study's, from the
 * scheduler. A limit that leaves some items for later is not an error (is_full). */
int batch_submit(struct workspace *w, struct batch *b, const struct job_state *jobs, size_t njobs,
                 struct err *e);

/* Frees the batch. A zeroed struct is empty. */
void batch_close(struct batch *b);

/* Dependencies of new jobs: the jobs that --after names, sbatch's --dependency if it is given and,
 * for --max-in-flight K with Slurm, the job submitted K jobs earlier. At most K jobs of the study
 * then run at a time, and no process has to supervise them.
 *
 * There are K lanes, each with the last job submitted to it. A new job depends on the job of the
 * lane whose turn it is, by "afterany": however that job ends (a requeued job has not ended). At
 * first the lanes hold the study's newest K pending and running jobs, in the order of their
 * ids. */
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

/* A submission to Slurm whose answer was lost, because unetctl or sbatch was killed or Slurm did
 * not answer in time.
 *
 * Slurm may still execute it: a request that waits for a stopped controller becomes a job when the
 * controller runs again. The tags of a submission are added to the file STUDY/.unetctl/in-flight
 * before the first job is submitted, and the file is removed when the ledger has the answers, so
 * that the next submission finds it. A "submitting" in the ledger whose tag is not in the file was
 * never sent. */

/* If an answer was lost, waits until all jobs of that submission have appeared, or for
 * absent_wait_s after it (status.h), and removes the file. Requires the ledger's lock, and precedes
 * the query for the study's jobs. Returns 0, or -1: with ERR_SCHED if the scheduler cannot be
 * queried. */
int in_flight_settle(const struct ledger *l, struct scheduler *scheduler, struct err *e);

/* The order in which the runs of a plan are submitted. Were it that of the plan, all runs of a
 * count would start together, and what changes on the machine meanwhile would look like an effect
 * of the number of GPUs. So runs are submitted in blocks, one for each seed, with the counts of a
 * block in random order (a randomized complete block design: Fisher, The Design of Experiments,
 * 1935). */

/* Fills dst, which the caller destroys, with the runs of plan in that order. It is a function of
 * the study's id, so that a submission that is repeated continues it; the ledger must have one.
 * With --one-allocation, where the largest run that fits is next, only runs of equal size change
 * their order. Returns 0, or -1 if memory ran out. */
int order_runs(const struct workspace *w, const struct plan *plan, struct plan *dst,
               struct err *e);

/* Returns the text of the allocation's script, which the caller frees, or NULL with an error. */
char *allocation_render(const struct plan *p, const struct allocation *a,
                        const struct batch_item *runs, size_t count, struct err *e);

/* Makes the allocation's folder, with its script and the list of runs. Requires the ledger's
 * lock. */
int allocation_write(const struct plan *p, const struct allocation *a,
                     const struct batch_item *runs, size_t count, struct err *e);
