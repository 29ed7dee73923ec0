/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic files and lines: a reader never sees a part of what was written, even if the writer is
 * killed.
 *
 * Writing goes to PATH.tmp-PID-N in the same folder -> fsync -> rename -> fsync of the folder. If
 * a step fails (disk full, no permission), the old file stays and the temporary one is removed;
 * only a writer that is killed leaves one behind. A symbolic link is followed; anything that is
 * not a regular file (device, FIFO, folder) is refused.
 *
 * Errors: ERR_INTERNAL when writing fails, ERR_DATA when reading fails; the text names the path. */
#ifndef UNETCTL_SRC_ATOMICFILE_H
#define UNETCTL_SRC_ATOMICFILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "src/err.h"

/* path gets exactly data[0..n). mode is as for open(2), under the umask. */
int atomicfile_write(const char *path, const void *data, size_t n, mode_t mode, struct err *e);

/* The same in pieces. commit and abort both free a; commit fails if any write to the stream did. */
struct atomicfile;
struct atomicfile *atomicfile_open(const char *path, mode_t mode, struct err *e);
FILE *atomicfile_stream(struct atomicfile *a);
int atomicfile_commit(struct atomicfile *a, struct err *e);
void atomicfile_abort(struct atomicfile *a); /* NULL is fine */

/* A file that was created at path, or renamed to it, is durable after its folder was synced. begin
 * and end do that in a thread beside the caller's work; path lives until end. */
int atomicfile_sync_folder(const char *path, struct err *e);
struct atomicfile_sync {
    const char *path;
    int code; /* errno, or 0 */
    bool threaded;
    pthread_t thread;
};
void atomicfile_sync_begin(struct atomicfile_sync *s, const char *path);
int atomicfile_sync_end(struct atomicfile_sync *s, struct err *e);

/* The same for a name that a user chose, where nothing may be lost: anything that exists at
 * path, even a dangling link, stays and is ERR_CONFIG, now or at the commit. check only tests
 * that. */
struct atomicfile *atomicfile_create(const char *path, mode_t mode, struct err *e);
int atomicfile_write_new(const char *path, const void *data, size_t n, mode_t mode, struct err *e);
int atomicfile_check_new(const char *path, struct err *e);

/* May path be replaced? 0 if it does not exist, or is a regular file that has mark, which the
 * program writes into all its files of this kind, in its first 4 KiB. Otherwise ERR_CONFIG. */
int atomicfile_check_own(const char *path, const char *mark, struct err *e);

/* Many files of one file system that become durable together: add writes a temporary file, commit
 * syncs the file system, renames all files, and syncs again, which waits twice for the disk instead
 * of twice per file. A zeroed struct is empty. */
struct atomicfile_batch {
    struct atomicfile_pair {
        char *path, *tmp; /* tmp is NULL once it was renamed */
    } * files;
    size_t count;
};

/* 0, or -1 and the file is not part of the batch. */
int atomicfile_batch_add(struct atomicfile_batch *b, const char *path, const void *data, size_t n,
                         mode_t mode, struct err *e);

/* Both empty the batch. A commit that fails leaves files as they were, or some new ones whole. */
int atomicfile_batch_commit(struct atomicfile_batch *b, struct err *e);
void atomicfile_batch_abort(struct atomicfile_batch *b); /* renamed files stay */

/* The steps of a commit. Files that are renamed before they are synced are complete for every
 * reader, but a power failure before the sync may leave them empty or missing. Sync may run in
 * another thread. */
int atomicfile_batch_rename(struct atomicfile_batch *b, struct err *e);
int atomicfile_batch_sync(const struct atomicfile_batch *b, struct err *e);

/* The whole regular file, malloc'ed, with a NUL behind it that *n does not count. More than limit
 * bytes, a folder, a FIFO (without waiting for its writer) and a device are refused. */
char *atomicfile_read(const char *path, size_t limit, size_t *n, struct err *e);

/* Opens a regular file for reading, as atomicfile_read does, and fills *st. -1 with ERR_DATA. */
int atomicfile_open_regular(const char *path, struct stat *st, struct err *e);

/* Appends one line, or several with newlines between them, and fsyncs once (also the folder of a
 * new file). A final newline is added; so is one to an incomplete last line of an earlier
 * writer. If the disk is full, the file is as before.
 * One writer at a time. */
int atomicfile_append(const char *path, const char *line, struct err *e);

#endif
