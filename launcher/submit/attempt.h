/* SPDX-License-Identifier: BSD-3-Clause */
/* One attempt of a run: its job for the scheduler, and its files. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_ATTEMPT_H
#define UNETCTL_LAUNCHER_SUBMIT_ATTEMPT_H

#include <limits.h>

#include "launcher/study/same_nodes.h"
#include "launcher/study/workspace.h"
#include "src/atomicfile.h"

/* Strings of job point into this struct, which therefore must not be moved, and into the
 * workspace. attempt_job returns 0, or -1. */
struct attempt_job {
    struct job job;
    char tag[256], name[160], nodes[SAME_NODES_SIZE];
    char script[PATH_MAX], work_dir[PATH_MAX], output[PATH_MAX];
};
int attempt_job(const struct plan *p, const struct run *run, int attempt, struct attempt_job *dst,
                struct err *e);

/* Checks that the scripts of a run can be written: its program, templates and markers. */
int attempt_check(const struct plan *p, const struct run *run, struct err *e);

/* Makes the attempt's folders, and adds its files to the batch: run_file.sh, submit_file.sh, and
 * run.json, which comes last, once per run, and for each attempt with its own plan. From the second
 * attempt on the run keeps its run.json. If this attempt has begun, nothing is added, and it is
 * ERR_CONFIG if the study's settings have changed. Requires the ledger's lock. */
int attempt_generate(const struct plan *p, const struct run *run, int attempt,
                     struct atomicfile_batch *files, struct err *e);

/* Checks the files of an attempt that has not begun: the run's run.json must be valid, and
 * attempt-K and both scripts must exist. A run.json of the attempt itself is not checked. Returns
 * whether they are complete, and else the reason in *why. */
bool attempt_is_whole(const struct plan *p, const struct run *run, int attempt, struct err *why);

/* Generates the files of a single attempt, writes them and makes them durable. */
int attempt_write(const struct plan *p, const struct run *run, int attempt, struct err *e);

#endif
