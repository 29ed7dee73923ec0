/* SPDX-License-Identifier: BSD-3-Clause */
/* The marker DONE or FAILED of an attempt, and the permission to write there.
 *
 * A requeued job starts its attempt again, perhaps while an earlier start still runs, unseen, on a
 * node that Slurm has given up. So each start (submit_file.sh) makes its own file in the
 * attempt's folder, names it in UNETCTL_START, and removes those of others. A marker is that file,
 * filled and renamed: of two starts that end at the same moment, one finds its file gone. Before
 * other results are written marker_check asks whether the file is still there.
 *
 * Without UNETCTL_START, or when it lies in another folder (a training by hand), any process may
 * write. */
#ifndef UNETCTL_SRC_RUN_MARKER_H
#define UNETCTL_SRC_RUN_MARKER_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

/* Does UNETCTL_START speak of dir, whether its file is still there or not? */
bool marker_has_start(const char *dir);

/* ERR_RESUMABLE when a later start has taken dir over. */
int marker_check(const char *dir, struct err *e);

/* dir/name gets exactly data[0..n): whole, on disk, or not at all. ERR_RESUMABLE as above,
 * ERR_INTERNAL. */
int marker_write(const char *dir, const char *name, const void *data, size_t n, struct err *e);

#endif
