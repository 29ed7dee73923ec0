/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes files atomically, appends lines to files, and reads files.
 *
 * A reader of a file that is written here sees either the old contents or all of the new ones,
 * even if the writer is killed. Writing goes to PATH.tmp-PID-N in the same folder -> fsync ->
 * rename -> fsync of the folder. If a step up to the rename fails (disk full, no permission), the
 * old file stays and the temporary one is removed; only a writer that is killed leaves one behind.
 * A symbolic link to an existing file is followed unless the programs own the folder (files.h);
 * anything that is not a regular file (device, FIFO, folder) is refused. The files of a batch are
 * synced together, atomicfile_create and atomicfile_write_new replace nothing, and none of this
 * holds for atomicfile_append, which writes in place.
 *
 * Errors, unless a function says otherwise: ERR_INTERNAL when writing fails, ERR_CONFIG if a link
 * or device is in the way, ERR_DATA when reading fails; the text names the path. */
#pragma once

#include "src/base.h"
#include <sys/stat.h>
#include <sys/types.h>

/* path gets exactly data[0..n). mode is as for open(2), under the
 * umask; the group may write a file that is executed only in a folder with the set-group-ID bit. */
int atomicfile_write(const char *path, const void *data, size_t n, mode_t mode, struct err *e);

/* The same for a file that is written in pieces through its stream, which the caller does not
 * close. commit and abort both free a, commit also when it fails; it fails if any write to the
 * stream failed. */
struct atomicfile;
struct atomicfile *atomicfile_open(const char *path, mode_t mode, struct err *e);
FILE *atomicfile_stream(struct atomicfile *a);
int atomicfile_commit(struct atomicfile *a, struct err *e);
void atomicfile_abort(struct atomicfile *a); /* NULL is fine */

/* Syncs the folder of path. A file that was created or renamed there is durable only after that. */
int atomicfile_sync_folder(const char *path, struct err *e);

/* Like atomicfile_open and atomicfile_write, but for a file name that a user chose: anything
 * that exists at path, even a dangling link, is kept and reported as ERR_CONFIG, at once or by
 * the commit. atomicfile_check_new only makes the check. */
struct atomicfile *atomicfile_create(const char *path, mode_t mode, struct err *e);
int atomicfile_write_new(const char *path, const void *data, size_t n, mode_t mode, struct err *e);
int atomicfile_check_new(const char *path, struct err *e);

/* Checks that path may be replaced. Returns 0 if path does not exist, or is a file, not a symbolic
 * link, whose first 4 KiB contain mark, a text which the program writes into all its files of this
 * kind. Otherwise -1 with ERR_CONFIG. */
int atomicfile_check_own(const char *path, const char *mark, struct err *e);

/* A batch of files of one file system that become durable together: add writes a temporary file;
 * commit syncs the file system, renames all files, and syncs again. That waits for the disk
 * twice in all instead of twice per file. A zeroed struct is an empty batch. */
struct atomicfile_batch {
    struct atomicfile **files;
    size_t count;
};

/* Returns 0, or -1; then the file is not part of the batch. A file that has these bytes already is
 * left as it is, unless mode makes it one to execute. Threads may add to one batch. */
int atomicfile_batch_add(struct atomicfile_batch *b, const char *path, const void *data, size_t n,
                         mode_t mode, struct err *e);

/* Both empty the batch. If commit fails, some files may already be the new ones, each of them
 * whole; the others are as before. */
int atomicfile_batch_commit(struct atomicfile_batch *b, struct err *e);
void atomicfile_batch_abort(struct atomicfile_batch *b); /* files that were renamed stay */

/* Reads a whole regular file. Returns its bytes, which the caller frees, and a NUL behind them
 * that *n does not count. Files of more than limit bytes, folders, FIFOs (without waiting for a
 * writer) and devices are refused with NULL and ERR_DATA. */
char *atomicfile_read(const char *path, size_t limit, size_t *n, struct err *e);
bool atomicfile_has(const char *path, const void *data, size_t n); /* exactly these bytes */

/* Opens a regular file of any size for reading and fills *st; other kinds of files are refused as
 * above. Returns the descriptor, or -1 with ERR_DATA. */
int atomicfile_open_regular(const char *path, struct stat *st, struct err *e);

/* Appends line, which may contain newlines, and a final newline if it has none; syncs the file
 * and, if it was missing or empty, its folder. An incomplete last line of an earlier writer is
 * ended first. If the disk is full, the file remains unchanged. A reader may see a part of the
 * line. The caller ensures that there is one writer at a time. */
int atomicfile_append(const char *path, const char *line, struct err *e);
