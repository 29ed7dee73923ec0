/* SPDX-License-Identifier: BSD-3-Clause */
/* One attempt of a run: its job for the scheduler, and its files. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_ATTEMPT_H
#define UNETCTL_LAUNCHER_SUBMIT_ATTEMPT_H

#include <limits.h>

#include "launcher/study/workspace.h"
#include "launcher/submit/write_queue.h"

/* Strings of job point into this struct, which therefore must not be moved, and into the
 * workspace. attempt_job returns 0, or -1. */
struct attempt_job {
    struct job job;
    char tag[256], name[160];
    char script[PATH_MAX], work_dir[PATH_MAX], output[PATH_MAX];
};
int attempt_job(const struct workspace *w, const struct run *run, int attempt,
                struct attempt_job *dst, struct err *e);

/* Adds the attempt's files to the queue, as one run of it: run.json (once per run, and for each
 * attempt with its own plan), run_file.sh, submit_file.sh, attempt-K/. From the second attempt
 * on the run keeps its run.json. If this attempt has begun, the run in the queue has no files, and
 * it is ERR_CONFIG if the study's settings have changed. Requires the ledger's lock. */
int attempt_generate(const struct workspace *w, const struct run *run, int attempt,
                     struct write_queue *files, struct err *e);

/* Checks the files of an attempt that has not begun, which a power failure soon after the
 * submission may leave empty, truncated or missing: the run's run.json must be valid, attempt-K
 * must exist, and neither script may be missing or cut off inside a line. A run.json of the attempt
 * itself is not checked. Returns 1 if they are complete, 0 with the reason in *why, or -1. */
int attempt_is_whole(const struct workspace *w, const struct run *run, int attempt, struct err *why,
                     struct err *e);

/* Generates the files of a single attempt, writes them and makes them durable. */
int attempt_write(const struct workspace *w, const struct run *run, int attempt, struct err *e);

#endif
