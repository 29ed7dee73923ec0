/* SPDX-License-Identifier: BSD-3-Clause */
/* One attempt of a run: its job as the scheduler takes it, and the files that it works with. */
#ifndef UNETCTL_LAUNCHER_ATTEMPT_H
#define UNETCTL_LAUNCHER_ATTEMPT_H

#include <limits.h>

#include "launcher/staging.h"
#include "launcher/workspace.h"

/* Strings of job point into the struct and into the workspace. */
struct attempt_job {
    struct job job;
    char tag[256], name[160];
    char script[PATH_MAX], work_dir[PATH_MAX], output[PATH_MAX];
};
int attempt_job(const struct workspace *w, const struct run *run, int attempt,
                struct attempt_job *dst, struct err *e);

/* Is run.json of a run still what the study says? 0, or -1 with ERR_CONFIG that names the value. */
int attempt_compare(const struct workspace *w, const struct run *run, struct err *e);

/* Add what the attempt needs to files, as a run of its own: run.json (once per run; of a resized attempt
 * its own, too), run_file.sh, submit_file.sh, attempt-K/. If an attempt of the run has begun, run.json
 * is compared instead, and a study that has changed since is ERR_CONFIG. Under the ledger's lock. */
int attempt_generate(const struct workspace *w, const struct run *run, int attempt,
                     struct staging *files, struct err *e);

/* Is what generate wrote of an attempt that has not begun all there? A power failure soon after a submission
 * may leave files empty, torn or away. 1, 0 and why in *why, or -1. */
int attempt_is_whole(const struct workspace *w, const struct run *run, int attempt, struct err *why,
                     struct err *e);

/* The same as generate of a single attempt, written. */
int attempt_write(const struct workspace *w, const struct run *run, int attempt, struct err *e);

#endif
