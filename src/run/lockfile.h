/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that processes lock against each other. A lock ends with its last descriptor, which
 * children share. The locks are open file description locks, which work on NFS. A file has the
 * rights of its folder: those who cannot write there cannot open it, and so cannot lock it. */
#ifndef UNETCTL_SRC_RUN_LOCKFILE_H
#define UNETCTL_SRC_RUN_LOCKFILE_H

#include <stdbool.h>

#include "src/err.h"

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

#endif
