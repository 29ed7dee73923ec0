/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens, makes, renames and removes files in folders that belong to the programs: those of studies,
 * runs and reports. Jobs, other hosts and other users can write there too, so a name may be
 * anything: a symbolic link to a file elsewhere, a FIFO, a device, a file of a terabyte.
 *
 * files_own and files_own_study declare such a folder. The folder itself is opened as the user
 * named it, so it may be reached through links. Below it each part of a path is opened on its own
 * and never through a link: what is a link, or not the file or folder that is expected, is refused,
 * and nothing outside is read, written or removed.
 *
 * In a study only .unetctl, logs, report and runs belong to the programs. What else lies beside
 * them is the user's: study.yaml, site.yaml, split.json, scripts and data may be links, and are
 * read through them, but the programs write no link there. `runs` itself may be a link to a folder,
 * as of a study whose runs are on another file system; it is never removed.
 *
 * Paths that no declared folder contains, and those with a part "..", are opened as they are: a
 * user's data, a file that an option names.
 *
 * Of every path: files_open refuses what is not a regular file, without waiting
 * for a FIFO, and readers state how many bytes they expect at most. Functions without a struct err
 * return as their namesakes in libc do, with errno: ELOOP or ENOTDIR of a link, ENXIO if it is not
 * a regular file, EISDIR of a folder, EFBIG of a file over its limit. files_error turns that into a
 * text. A hard link is not recognized: Linux lets users make those of their own files only
 * (fs.protected_hardlinks). */
#pragma once

#include "src/base.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#define FILES_TEXT_MAX ((size_t)64 << 20) /* bytes of a file that is read by lines */

/* Declare a folder, which need not exist yet, for the life of the process. */
void files_own(const char *dir);
void files_own_study(const char *dir);

/* Returns whether links at path are refused. */
bool files_is_owned(const char *path);

/* Opens a regular file, or with O_DIRECTORY a folder; flags and mode are those of open(2). The
 * descriptor is closed by exec. */
int files_open(const char *path, int flags, mode_t mode);

/* Opens a regular file for reading ("r") or appending ("a"). limit: the most bytes it may have when
 * it is opened to be read. */
FILE *files_stream(const char *path, const char *mode, size_t limit);

/* As lstat in a folder that is owned, else as stat. */
int files_stat(const char *path, struct stat *st);

int files_rename(const char *from, const char *to, unsigned flags); /* as renameat2 */
int files_link(const char *from, const char *to);
int files_symlink(const char *target, const char *path);
int files_unlink(const char *path);
int files_rmdir(const char *path);

/* files_make_folder accepts a folder that exists. */
int files_mkdir(const char *path);
int files_make_folder(const char *path);

DIR *files_list(const char *path);
int files_scan(const char *path, struct dirent ***list, int (*choose)(const struct dirent *),
               int (*compare)(const struct dirent **, const struct dirent **));

/* Chooses for files_scan the names that do not begin with a dot. */
int files_are_shown(const struct dirent *entry);

/* Removes a folder with all that is in it, as far as it can. A link is left alone. */
void files_remove_tree(const char *path);

/* Fills e with "DOING PATH: REASON", such as "cannot read x/nodes: it is a symbolic link; remove
 * it", for an errno of a function above, which may be of another call, too. code: that of other
 * reasons; ERR_INTERNAL becomes ERR_CONFIG where the user is to remove something. Returns -1. */
int files_error(struct err *e, int code, int number, const char *doing, const char *path);
