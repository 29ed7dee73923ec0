/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths put together from parts. */
#ifndef UNETCTL_LAUNCHER_COLLECT_PATH_H
#define UNETCTL_LAUNCHER_COLLECT_PATH_H

#include <limits.h>
#include <stdbool.h>

#include "src/err.h"

/* Write a path, as printf does. One that does not fit becomes "", which names no file: whoever
 * opens it gets an error, and nobody touches another file. Returns dst. */
const char *path_format(char dst[PATH_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Is there a file of this name in the folder? */
bool path_has_file(const char *folder, const char *name);

/* Waits until no other process of ours writes into the folder, and keeps others waiting until
 * path_unlock_folder. -1 where the file system has no such locks, or there is no folder. */
int path_lock_folder(const char *path);
void path_unlock_folder(int lock);

/* May a temporary file or folder, which a process that writes into the folder of lock makes, be
 * removed? Its process was killed where the lock is held; else it must be an hour old. */
bool path_is_leftover(const char *path, int lock);

/* Make the folder, and those above it. 0, or -1 with ERR_INTERNAL. */
int path_make_folder(const char *path, struct err *e);

#endif
