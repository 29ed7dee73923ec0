/* SPDX-License-Identifier: BSD-3-Clause */
/* Brings runs to the scheduler, each exactly once, whenever and however often it is interrupted.
 *
 * Under the ledger's lock: plan and limits for the whole list first; then one query for the jobs of
 * this study; a run that has a job, a marker or a begun attempt is left alone; for each other one
 * "submitting" is fsynced, its files get their names, the job is submitted, "submitted" is fsynced;
 * the files are made durable later. After a crash in between the tag tells whether the job exists.
 * If the scheduler cannot be asked, nothing is submitted.
 *
 * What waits for different things is done at the same time: the scheduler's answers, the files (see
 * staging.h), in a new study the fsync of the intents, and jobs whose files are there while those
 * of later ones are written. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_SUBMISSION_H
#define UNETCTL_LAUNCHER_SUBMIT_SUBMISSION_H

#include "launcher/study/run_plan.h"
#include "launcher/study/workspace.h"

struct submission_counts {
    size_t submitted;
    size_t active; /* had been submitted before, and wait or run */
    size_t good;   /* are done */
    size_t bad;    /* have failed before: for `unetctl resume` */
    size_t left;      /* are not, as a limit of the scheduler's leaves no room */
    struct err limit; /* which one, then */
};

/* Submit the runs of plan that have not been yet. Makes STUDY/split.json if it is missing.
 * ERR_USAGE, ERR_CONFIG, ERR_SCHED or ERR_DATA before anything was submitted; a refusal later
 * leaves what was submitted, and the same call continues there, as it does where runs are left. */
int submission_submit(struct workspace *w, const struct run_plan *plan,
                      struct submission_counts *counts, struct err *e);

/* With how many GPUs runs go on; 0: as planned. scale as for run_plan_resize. */
struct submission_size {
    int gpus;
    bool scale;
};

/* Give a new attempt to each run of ids (nids 0: to all) that ended without a result. ERR_USAGE for
 * an id that does not exist, is active or done. */
int submission_resume(struct workspace *w, char **ids, size_t nids,
                      const struct submission_size *size, struct submission_counts *counts,
                      struct err *e);

/* Does the partition have what each run of plan needs? ERR_SCHED that names the first GPU count
 * that does not fit, and the largest that does. */
int submission_check_limits(struct workspace *w, const struct run_plan *plan, struct err *e);

#endif
