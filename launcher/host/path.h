/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes paths and folders, locks folders, writes files in them, and recognizes temporary files that
 * a killed process left there. */
#ifndef UNETCTL_LAUNCHER_HOST_PATH_H
#define UNETCTL_LAUNCHER_HOST_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

/* Formats a path as printf does and returns dst. A path that does not fit becomes "", so that
 * opening it fails instead of affecting another file. */
const char *path_format(char dst[PATH_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the path with "~" at its beginning replaced by $HOME, $NAME and ${NAME} by the
 * environment's variables, and "$$" by "$". The caller frees it. NULL with ERR_CONFIG if a variable
 * is not set or is empty. */
char *path_expand(const char *text, struct err *e);

/* Returns whether the folder has a file of this name. */
bool path_has_file(const char *folder, const char *name);

/* Reads the first line of a file, without its newline and as far as it fits. Returns false, and
 * sets dst to "", if the file cannot be read or is empty. */
bool path_read_line(const char *path, char *dst, size_t size);

/* Locks a folder by a file .lock in it, which only those who may write there can open: waits until
 * no other unetctl writes into it, and keeps others out until path_unlock_folder, which removes
 * the file. *lock is -1 if the file system has no locks. Returns 0, or -1: with ERR_TIMEOUT after a
 * minute, with ERR_INTERNAL if the file cannot be written. */
int path_lock_folder(const char *path, int *lock, struct err *e);
void path_unlock_folder(const char *path, int lock);

/* Returns whether this temporary file or folder may be removed. With the lock of its folder (lock
 * >= 0) it may if it exists: the process that made it no longer holds the lock, so it was killed.
 * Without a lock (-1) it must be an hour old. */
bool path_is_leftover(const char *path, int lock);

/* Creates the folder and its parents, unless they exist. Returns 0, or -1 with ERR_INTERNAL. */
int path_make_folder(const char *path, struct err *e);

/* Finds or makes a folder of this user alone (mode 0700) where others may write. It has the path
 * `name` or, where that is another user's, a link or open to others, the first of NAME.2 to NAME.99
 * that is not. All processes of the user get the same one. Returns 0, or -1 with ERR_CONFIG. */
int path_make_own(const char *name, char dst[PATH_MAX], struct err *e);

/* Writes text to the file `name` in folder, and frees text. A NULL text is reported as lack of
 * memory. Returns 0, or -1 with ERR_INTERNAL. */
int path_write(const char *folder, const char *name, char *text, struct err *e);

#endif
