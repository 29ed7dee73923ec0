/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files and whole lines: a reader never sees half of what was written, whatever happens to
 * the writer.
 *
 * Writing goes to PATH.tmp-PID-N in the same folder -> fsync -> rename -> fsync of the folder. When
 * any step fails (disk full, no permission) the old file stays and the temporary one is removed;
 * only a writer that is killed leaves it behind. A symbolic link is followed; what exists and is
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

/* A file that was made at path, or renamed to it, is there for good only after its folder was
 * synced. In two steps that runs beside what the caller does in between; path lives until end. */
int atomicfile_sync_folder(const char *path, struct err *e);
struct atomicfile_sync {
    const char *path;
    int code; /* errno, or 0 */
    bool threaded;
    pthread_t thread;
};
void atomicfile_sync_begin(struct atomicfile_sync *s, const char *path);
int atomicfile_sync_end(struct atomicfile_sync *s, struct err *e);

/* The same for a name that a user chose, where nothing may be lost: whatever exists at path, a
 * dangling link too, stays and is ERR_CONFIG, now or at the commit. check: only whether something
 * is there. */
struct atomicfile *atomicfile_create(const char *path, mode_t mode, struct err *e);
int atomicfile_write_new(const char *path, const void *data, size_t n, mode_t mode, struct err *e);
int atomicfile_check_new(const char *path, struct err *e);

/* May path be replaced? Nothing is there, or a regular file with mark, which is in all that the
 * program writes of this kind, in its first 4 KiB. Else ERR_CONFIG. */
int atomicfile_check_own(const char *path, const char *mark, struct err *e);

/* Many files that become durable together: add writes a temporary file, commit syncs their file
 * system once, renames all, and syncs it again. That costs two waits for the disk instead of two
 * for each file. All files lie in one file system. Zeroed is empty. */
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

/* The steps of a commit. Files that are renamed before they are synced are whole to every reader,
 * but a power failure before the sync may leave them empty or away. Sync may run in another
 * thread. */
int atomicfile_batch_rename(struct atomicfile_batch *b, struct err *e);
int atomicfile_batch_sync(const struct atomicfile_batch *b, struct err *e);

/* The whole regular file, malloc'ed, with a NUL behind it that *n does not count. More than limit
 * bytes, a folder, a FIFO (without waiting for its writer) and a device are refused. */
char *atomicfile_read(const char *path, size_t limit, size_t *n, struct err *e);

/* Opens a regular file for reading, as atomicfile_read does, and fills *st. -1 with ERR_DATA. */
int atomicfile_open_regular(const char *path, struct stat *st, struct err *e);

/* Append one line, or several with newlines between them, and fsync once (a new file's folder,
 * too). A last newline is added. A last line that an earlier writer left without newline is closed
 * first, so that it spoils no other. If the disk is full the file is as before. One writer at a
 * time. */
int atomicfile_append(const char *path, const char *line, struct err *e);

#endif
