/* SPDX-License-Identifier: BSD-3-Clause */
/* Attempts that are submitted by one call. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_BATCH_H
#define UNETCTL_LAUNCHER_SUBMIT_BATCH_H

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
int batch_add(struct batch *b, const struct run *run, int attempt, int from, struct err *e);

/* Checks the largest job, writes and syncs the files of all items, and submits them in their order:
 * each is noted as "submitting" in the ledger before, and with its result afterwards. The files
 * come before the check where it needs a script: of templates with directives of their own, and
 * with --one-allocation, by which one job is that of all items. jobs are the study's, from the
 * scheduler. A limit that leaves some items for later is not an error (is_full). */
int batch_submit(struct workspace *w, struct batch *b, const struct job_state *jobs, size_t njobs,
                 struct err *e);

/* Frees the batch. A zeroed struct is empty. */
void batch_close(struct batch *b);

#endif
