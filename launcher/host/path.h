/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths: where the parts of unetctl are, folders that are made and locked, files in them, and the
 * user's own folders. */
#pragma once

#include "src/base.h"

/* Finds the parts of unetctl, in a build tree and in an installation that was moved anywhere.
 *
 *                     libexec (programs)               data (templates)
 *   build tree        the build folder, then the       the same
 *                     source folder
 *   installed         BINDIR/../libexec/unetctl        BINDIR/../share/unetctl
 *   variable, wins    UNETCTL_LIBEXECDIR               UNETCTL_DATADIR
 *
 * BINDIR is the folder of the running executable; it is a build tree if it has the file
 * source-folder, in which configure names the source folder.
 * Names are relative to the top of the source: "unetctl-slurm", "launcher/sandbox/NAME",
 * "templates/sites/generic.yaml"; installing keeps the folders (nobase_ in the Makefile). */

/* The folder of the running executable, with links resolved, or NULL with ERR_INTERNAL. */
const char *paths_bindir(struct err *e);

/* The path of an executable, and of a data file or folder; it is absolute unless the variable's
 * folder is relative. PATH_MAX bytes are enough for dst. Returns 0, or -1 with ERR_INTERNAL that
 * names the folders searched. */
int paths_libexec(const char *name, char *dst, size_t size, struct err *e);
int paths_data(const char *name, char *dst, size_t size, struct err *e);

/* Makes paths and folders, locks folders, writes files in them, and recognizes temporary files that
 * a killed process left there. */

/* Formats a path as printf does and returns dst. A path that does not fit becomes "", so that
 * opening it fails instead of affecting another file. */
const char *path_format(char dst[PATH_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the path with "~" at its beginning replaced by $HOME, $NAME and ${NAME} by the
 * environment's variables, and "$$" by "$". The caller frees it. NULL with ERR_CONFIG if a variable
 * is not set or is empty. */
char *path_expand(const char *text, struct err *e);

/* Returns whether the folder has a file of this name, and whether path is a regular file. */
bool path_has_file(const char *folder, const char *name);
bool path_is_file(const char *path);

/* Reads the first line of a file, without its newline and as far as it fits. Returns false, and
 * sets dst to "", if the file cannot be read or is empty. */
bool path_read_line(const char *path, char *dst, size_t size);

/* Returns whether the open file is still the one of this path. */
bool path_is_current(int fd, const char *path);

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

/* Returns the bytes of the files in a folder and in those below it, each file rounded up to blocks
 * of 4096; with `follow` also of files and folders that are links. */
int64_t path_measure(const char *dir, bool follow);

/* The user's folders: $XDG_STATE_HOME/unetctl or ~/.local/state/unetctl for the state of unetctl,
 * $XDG_CONFIG_HOME/unetctl or ~/.config/unetctl for files that the user writes. A variable that is
 * not an absolute path is ignored. */

/* Stores the absolute path of `name` in the state folder, where it need not exist. Returns 0, or
 * -1 with ERR_USAGE if the environment defines no such folder. */
int statedir_path(const char *name, char dst[PATH_MAX], struct err *e);

/* The same for the folder of files that the user writes. */
int statedir_config_path(const char *name, char dst[PATH_MAX], struct err *e);
