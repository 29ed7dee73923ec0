/* SPDX-License-Identifier: BSD-3-Clause */
/* The marker DONE or FAILED of an attempt (a submission of a run, with a folder of its own), and
 * the right to write results in that folder.
 *
 * Slurm may requeue a job while an earlier start of it still runs, unseen, on a node that Slurm
 * has given up. Two starts then share the folder of the attempt, and only the later may write
 * there. Each start (submit_file.sh) creates a file of its own in the folder, names it in
 * UNETCTL_START, and removes those of other starts. The marker is that file, filled and renamed,
 * so a start whose file is gone cannot write one. Before other results are written, marker_check
 * tests whether the file exists.
 *
 * Without UNETCTL_START, or if it lies in another folder (a training started by hand), any process
 * may write. */
#ifndef UNETCTL_SRC_RUN_MARKER_H
#define UNETCTL_SRC_RUN_MARKER_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

/* Returns whether UNETCTL_START names a file in dir, which may no longer exist. */
bool marker_has_start(const char *dir);

/* Returns 0 if this process may write in dir, or -1 with ERR_RESUMABLE if a later start has taken
 * it over, or this start already has its marker. */
int marker_check(const char *dir, struct err *e);

/* Makes dir/name contain exactly data[0..n). Returns 0, or -1 with ERR_RESUMABLE as above, also if
 * dir has a marker already, or ERR_INTERNAL; dir/name is then as before. Once it can be seen it
 * stands: if the folder cannot be synced then, that is only a warning. */
int marker_write(const char *dir, const char *name, const void *data, size_t n, struct err *e);

#endif
