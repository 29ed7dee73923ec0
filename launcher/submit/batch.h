/* SPDX-License-Identifier: BSD-3-Clause */
/* Attempts that are submitted together: their files, events in the ledger, and jobs. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_BATCH_H
#define UNETCTL_LAUNCHER_SUBMIT_BATCH_H

#include "launcher/study/workspace.h"
#include "launcher/submit/write_queue.h"

struct batch {
    struct batch_item {
        struct run run;
        int attempt;
        int from; /* the earlier attempt whose checkpoint it resumes from; 0: none */
    } * items;
    size_t count;
    struct write_queue files; /* run i of the queue belongs to item i */
    bool noted;               /* "submitting" is in the ledger */
    bool handed_over;         /* submission has begun, so that each outcome is noted */
    size_t submitted;
    bool is_full;             /* the scheduler's limit left some items for later */
    struct err limit;         /* which limit that is */
};

/* Adds an item; run is copied. Returns 0, or -1. */
int batch_add(struct batch *b, const struct run *run, int attempt, int from, struct err *e);

/* Do both have the same runs and attempts, in the same order? */
bool batch_is_same(const struct batch *a, const struct batch *b);

/* Starts to write the files of all items. No more items can be added. */
int batch_write(const struct workspace *w, struct batch *b, struct err *e);

/* Appends one event for each item to the ledger, unless the scheduler is dry. job is the id of the
 * one job that all items share, or NULL. */
int batch_note(struct workspace *w, const struct batch *b, enum ledger_event event, const char *job,
               struct err *e);

/* Checks that the items cost at most max_gpu_hours in the worst case (run_cost_check); 0 means no
 * limit. */
int batch_check_cost(const struct workspace *w, const struct batch *b, double max_gpu_hours,
                     struct err *e);

/* Submits all items, after writing their files and noting "submitting" unless that was done. The
 * largest job is checked before the first is submitted; with --one-allocation, which makes the
 * items one job, that job is. jobs are the study's, from the scheduler. A limit that leaves some
 * items for later is not an error (is_full). */
int batch_submit(struct workspace *w, struct batch *b, const struct job_state *jobs, size_t njobs,
                 struct err *e);

/* Frees the batch, and removes the files of items whose submission has not begun. A zeroed struct
 * is empty. */
void batch_close(struct batch *b);

#endif
