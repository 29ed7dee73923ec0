/* SPDX-License-Identifier: BSD-3-Clause */
/* Submits runs, each exactly once, even if it is interrupted and repeated at any time.
 *
 * Under the ledger's lock the scheduler is asked for the jobs of the study. A run that has a job,
 * a file DONE or FAILED, or an attempt that began is skipped (unless it is resumed). The files of
 * all other runs are written and synced; "submitting" is written to the ledger and fsynced, the
 * jobs are submitted, and "submitted" is written and fsynced. After a crash in between, the job's
 * tag shows whether the job exists. If the scheduler cannot be queried, nothing is submitted.
 *
 * submission.h: runs are chosen, submitted, resumed or printed (--dry-run); nodes that ended runs
 * are left out. attempt.h: one attempt of a run, which is one job: its files, what it executes, the
 * settings that a run keeps; and an allocation, one job for many runs.
 *
 * The verbs and rounds call this room. Which runs need what is decided by launcher/status; the
 * order is that of a randomized block design (order_runs).
 *
 * Read submission_submit, then batch.c, which writes the files of all, notes them in the ledger and
 * submits them, then attempt.c. */
#pragma once

#include "launcher/status/status.h"
#include "launcher/study/plan.h"
#include "launcher/study/workspace.h"

struct submission_counts {
    size_t submitted;
    size_t active;    /* submitted earlier, and pending or running */
    size_t good;      /* done */
    size_t bad;       /* ended without a result; `unetctl resume` continues them */
    size_t others;    /* left to other users, who submitted them, or hidden from this one */
    size_t left;      /* left for later by a limit of the scheduler */
    struct err limit; /* which limit that is */
    bool unwanted;    /* nothing was done, as w->is_wanted says; all counts are 0 */
};

/* Submits the runs of plan that were not submitted before. Makes STUDY/split.json if it is
 * missing. Returns 0, or -1 with ERR_USAGE, ERR_CONFIG, ERR_SCHED or ERR_DATA;
 * counts->submitted is the number of runs that were submitted in either case. After a refusal, or
 * if runs are left, another call with the same plan submits the rest. */
int submission_submit(struct workspace *w, const struct plan *plan,
                      struct submission_counts *counts, struct err *e);

/* The number of GPUs to resume with; 0: as planned. scale is that of plan_resize_run. All runs
 * together may cost at most max_gpu_hours, or anything if that is 0. */
struct submission_size {
    int gpus;
    bool scale;
    double max_gpu_hours;
};

/* Submits a new attempt of each run in ids, or with nids 0 of all runs that ended without a
 * result. Returns 0, or -1: with ERR_USAGE for an id that is not a run that ended without a
 * result, with ERR_CONFIG if they may cost too much. */
int submission_resume(struct workspace *w, char **ids, size_t nids,
                      const struct submission_size *size, struct submission_counts *counts,
                      struct err *e);

/* Checks that the runs cost at most max_gpu_hours in the worst case (run_cost_check); 0 means no
 * limit. */
int submission_check_cost(const struct plan *plan, bool by_count, double max_gpu_hours,
                          struct err *e);

/* Warns if nactive runs are active and options for jobs, which concern only new jobs, are given: in
 * args, or as words, which are options of sbatch. */
void submission_warn_unreached(const struct plan_args *args, int nwords, char **words,
                               size_t nactive);

/* --dry-run prints the files of a plan's runs instead of writing them. */
#define DRY_RUN_OPTION(flag)                                                           \
    {"dry-run", 'n', CLI_FLAG, NULL,                                                   \
     "print the scripts and their differences from present ones; write nothing",       \
     &(flag), 0, 0}

/* Prints for each run that has not begun run.json and both scripts as they would be written, and
 * the differences from the current files as a unified diff; for one that has begun, only that it
 * has. With --one-allocation prints that job's script, too. Does not query the scheduler. If the
 * study has no id yet, a placeholder is shown. Returns 0, or -1. */
int dry_run_print(const struct plan *plan, struct err *e);

/* Nodes that have ended runs. Such a run has a note of the node in attempt-K/bad-nodes, lines
 * "SECONDS NODE WHY" (seconds since 1970), by submit_file.sh (Slurm reported a node failure), by
 * unet-train (a rank was lost), or by unetctl (Slurm's state NODE_FAIL, without a note);
 * .unetctl/bad-nodes has notes of slow nodes. A run that is done clears the older notes of its
 * nodes. */
struct bad_node {
    char name[64];
    int notes;      /* at most one of each attempt */
    time_t time;    /* of the newest note */
    char last[160]; /* "RUN: WHY" of that, or "WHY" */
};

struct bad_nodes {
    struct bad_node *nodes; /* those with notes that no run has cleared, by name */
    size_t count, capacity;
};

/* Reads the notes of a study. Returns 0, or -1. */
int bad_nodes_read(const char *study_dir, struct bad_nodes *dst, struct err *e);
void bad_nodes_destroy(struct bad_nodes *b);

/* Notes a node in study_dir/.unetctl/bad-nodes, of which only the newest note counts. */
int bad_nodes_note(const char *study_dir, const char *node, const char *why, struct err *e);

/* Returns whether the node is left out of jobs of this study (slurm.exclude_after). */
bool bad_nodes_is_out(const struct plan *p, const struct bad_node *node);

/* Notes the nodes of runs in list that ended by NODE_FAIL, then adds the nodes that are left out to
 * the options of the plan and reports them, at most once. Not for other schedulers than Slurm, nor
 * where the user chooses nodes (--nodelist). */
int bad_nodes_leave_out(struct workspace *w, const struct status_list *list, struct err *e);
