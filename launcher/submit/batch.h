/* SPDX-License-Identifier: BSD-3-Clause */
/* Attempts on their way to the scheduler: their files, their notes in the ledger, their jobs. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_BATCH_H
#define UNETCTL_LAUNCHER_SUBMIT_BATCH_H

#include "launcher/study/workspace.h"
#include "launcher/submit/write_queue.h"

struct batch {
    struct batch_item {
        struct run run;
        int attempt;
        int from; /* earlier attempt whose checkpoint it goes on from, 0: none has */
    } * items;
    size_t count;
    struct write_queue files; /* theirs; run i is item i */
    bool noted;           /* that they are being submitted */
    bool handed_over;     /* and so it is: what becomes of each is noted one by one */
    size_t submitted;
    bool is_full;         /* some are not, as a limit of the scheduler's is reached */
    struct err limit;     /* which one, then */
};

int batch_add(struct batch *b, const struct run *run, int attempt, int from, struct err *e);
bool batch_is_same(const struct batch *a, const struct batch *b);

/* Begins to write the files of all; no more can be added. */
int batch_write(const struct workspace *w, struct batch *b, struct err *e);

/* One event for each item. job: of all of them, or NULL. A dry scheduler keeps nothing, so nothing
 * is noted of it either. */
int batch_note(struct workspace *w, const struct batch *b, enum ledger_event event, const char *job,
               struct err *e);

/* Writes and notes what was not yet, and submits. All checks for all items come before the first
 * submission. jobs: of the study, as the scheduler knows them. A limit that leaves room for some
 * only is no error: see is_full. */
int batch_submit(struct workspace *w, struct batch *b, const struct job_state *jobs, size_t njobs,
                 struct err *e);

/* Files of what was not handed over go. A zeroed struct is empty. */
void batch_close(struct batch *b);

#endif
