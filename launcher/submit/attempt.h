/* SPDX-License-Identifier: BSD-3-Clause */
/* One attempt of a run: its job as the scheduler takes it, and the files that it works with. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_ATTEMPT_H
#define UNETCTL_LAUNCHER_SUBMIT_ATTEMPT_H

#include <limits.h>

#include "launcher/study/workspace.h"
#include "launcher/submit/write_queue.h"

/* Strings of job point into the struct and into the workspace. */
struct attempt_job {
    struct job job;
    char tag[256], name[160];
    char script[PATH_MAX], work_dir[PATH_MAX], output[PATH_MAX];
};
int attempt_job(const struct workspace *w, const struct run *run, int attempt,
                struct attempt_job *dst, struct err *e);

/* Add what the attempt needs to files, as a run of its own: run.json (once per run; of an attempt
 * with a plan of its own that, too), run_file.sh, submit_file.sh, attempt-K/. A run that has begun
 * keeps its run.json. If this attempt has begun, nothing is added, and a study that says anything
 * else than the run began with is ERR_CONFIG. Under the ledger's lock. */
int attempt_generate(const struct workspace *w, const struct run *run, int attempt,
                     struct write_queue *files, struct err *e);

/* Is what generate wrote of an attempt that has not begun all there? A power failure soon after a
 * submission may leave files empty, torn or away. 1, 0 and why in *why, or -1. */
int attempt_is_whole(const struct workspace *w, const struct run *run, int attempt, struct err *why,
                     struct err *e);

/* The same as generate of a single attempt, written. */
int attempt_write(const struct workspace *w, const struct run *run, int attempt, struct err *e);

#endif
