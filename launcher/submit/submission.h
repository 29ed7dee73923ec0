/* SPDX-License-Identifier: BSD-3-Clause */
/* Submits runs, each exactly once, even if it is interrupted and repeated at any time.
 *
 * Under the ledger's lock, plan and limits are first checked for the whole list, and the
 * scheduler is queried once for the study's jobs. A run that has a job, a marker or an attempt
 * that began is skipped. For each other run "submitting" is fsynced, its files are renamed, the
 * job is submitted, and "submitted" is fsynced; the files become durable later. After a crash in
 * between, the tag shows whether the job exists. If the scheduler cannot be queried, nothing is
 * submitted.
 *
 * Independent waits overlap: the scheduler's answers, the files (write_queue.h), the fsync of a
 * new study's events, and the submission of jobs whose files are complete. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_SUBMISSION_H
#define UNETCTL_LAUNCHER_SUBMIT_SUBMISSION_H

#include "launcher/study/run_plan.h"
#include "launcher/study/workspace.h"

struct submission_counts {
    size_t submitted;
    size_t active;    /* submitted earlier, and pending or running */
    size_t good;      /* done */
    size_t bad;       /* ended without a result; `unetctl resume` continues them */
    size_t left;      /* left for later by a limit of the scheduler */
    struct err limit; /* which limit that is */
};

/* Submits the runs of plan that were not submitted before. Makes STUDY/split.json if it is
 * missing. Returns -1 with ERR_USAGE, ERR_CONFIG, ERR_SCHED or ERR_DATA before anything was
 * submitted. After a refusal, or if runs are left, the same call continues. */
int submission_submit(struct workspace *w, const struct run_plan *plan,
                      struct submission_counts *counts, struct err *e);

/* The number of GPUs to resume with; 0: as planned. scale is that of run_plan_resize. */
struct submission_size {
    int gpus;
    bool scale;
};

/* Submits a new attempt of each run in ids (all runs if nids is 0) that ended without a result.
 * ERR_USAGE for an id that does not exist, is active or is done. */
int submission_resume(struct workspace *w, char **ids, size_t nids,
                      const struct submission_size *size, struct submission_counts *counts,
                      struct err *e);

#endif
