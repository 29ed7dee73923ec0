/* SPDX-License-Identifier: BSD-3-Clause */
/* Files by which processes of a run agree: markers, locks, and the token of its ranks. */
#pragma once

#include "src/base.h"

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

/* Returns whether UNETCTL_START names a file in dir, which may no longer exist. */
bool marker_has_start(const char *dir);

/* Returns 0 if this process may write in dir, or -1 with ERR_RESUMABLE if a later start has taken
 * it over, or this start already has its marker. */
int marker_check(const char *dir, struct err *e);

/* Makes dir/name contain exactly data[0..n). Returns 0, or -1 with ERR_RESUMABLE as above, also if
 * dir has a marker already, or ERR_INTERNAL; dir/name is then as before. Once it can be seen it
 * stands: if the folder cannot be synced then, that is only a warning. */
int marker_write(const char *dir, const char *name, const void *data, size_t n, struct err *e);

/* Files that processes lock against each other. A lock ends with its last descriptor, which
 * children share. The locks are open file description locks, which work on NFS. A file has the
 * rights of its folder: those who cannot write there cannot open it, and so cannot lock it. */

/* Opens the lock file, and creates it if it is missing. Corrects the rights of a file of this user
 * that earlier versions have made. inherited: programs that this process starts share the
 * descriptor, and with it the lock. Returns the descriptor, or -1 with ERR_INTERNAL, or ERR_CONFIG
 * if something else is in the way. */
int lockfile_open(const char *path, bool inherited, struct err *e);

/* Waits at most timeout_s for the lock; once it has to wait it reports that it waits for `what`.
 * Returns 0, or -1: with ERR_TIMEOUT that names the holder, or with ERR_INTERNAL and errno where
 * the file system has no locks. */
int lockfile_take(int fd, const char *path, const char *what, int timeout_s, struct err *e);

/* Writes host, pid and command of this process to the file as its first line, which
 * lockfile_take of other hosts reads, and `rest` after it. Returns 0, or -1 with
 * ERR_INTERNAL. */
int lockfile_sign(int fd, const char *path, const char *rest, struct err *e);

void lockfile_release(int fd); /* also from children that share it; does not close it */

/* The secret by which the ranks of a run recognise each other. It is in a file of the run's folder
 * of results that only its owner can read, so that a later start in the same folder uses the same
 * one. It is never sent, and nothing is signed with it: keys are derived from it. */
#define TOKEN_SIZE 32

/* Reads DIR/token into dst. The rank that comes first creates the folder (not its parents) and the
 * file; the others, on any node, read what it wrote. ERR_PEER if the file can neither be read nor
 * created, is not a token, or can be read by other users. */
int token_share(const char *dir, unsigned char dst[TOKEN_SIZE], struct err *e);

/* Fills dst with at most 256 random bytes of the kernel. */
int token_draw(void *dst, size_t nbytes, struct err *e);
