/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths, and folders that are written to. */
#ifndef UNETCTL_LAUNCHER_COLLECT_PATH_H
#define UNETCTL_LAUNCHER_COLLECT_PATH_H

#include <limits.h>
#include <stdbool.h>

#include "src/err.h"

/* Formats a path as printf does, and returns dst. One that does not fit becomes "", so that opening
 * it fails and no other file is touched. */
const char *path_format(char dst[PATH_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Does the folder have a file of this name? */
bool path_has_file(const char *folder, const char *name);

/* Waits until no other unetctl writes into the folder, and keeps others waiting until
 * path_unlock_folder. -1 where the file system has no such locks, or there is no folder. */
int path_lock_folder(const char *path);
void path_unlock_folder(int lock);

/* May a temporary file or folder of a process that writes into the folder of lock be removed? Where
 * the lock is held, that process was killed; without a lock the file must be an hour old. */
bool path_is_leftover(const char *path, int lock);

/* Makes the folder and those above it. 0, or -1 with ERR_INTERNAL. */
int path_make_folder(const char *path, struct err *e);

/* Writes text, which is freed, as the file name of folder. NULL stands for text that there was no
 * memory for. 0, or -1 with ERR_INTERNAL. */
int path_write(const char *folder, const char *name, char *text, struct err *e);

#endif
