/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of several runs, which threads write while jobs are submitted.
 *
 * Additions are kept in memory. After write_queue_start, the threads make the folders and write
 * the files, run after run. In a new folder, files get their final names at once, and the first
 * file is written last, so that a reader that sees it sees all. In other folders, files are
 * temporary until the run is taken by write_queue_wait. Of runs that are never taken, nothing
 * remains. A zeroed struct is empty. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_WRITE_QUEUE_H
#define UNETCTL_LAUNCHER_SUBMIT_WRITE_QUEUE_H

#define WRITE_QUEUE_NTHREADS 2

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/atomicfile.h"

struct write_queue {
    struct write_queue_run {
        struct write_queue_step *steps; /* the first one makes its folder */
        size_t nsteps;
        struct atomicfile_batch files; /* files that are still temporary */
        bool written, taken;
    } * runs;
    size_t count;
    bool begun;
    size_t nthreads; /* threads that were started */
    pthread_t threads[WRITE_QUEUE_NTHREADS];
    pthread_mutex_t lock; /* protects written and the following members while threads run */
    pthread_cond_t progress;
    size_t next; /* the next run to write */
    int rc; /* not 0: the threads end early */
    size_t failed; /* the first run that failed; e has its error */
    struct err e;
};

/* Add what is to be written; texts are copied. After add_run, additions belong to a new run with
 * this folder. A folder or a link that exists is left unchanged. Not allowed after
 * write_queue_start. */
int write_queue_add_run(struct write_queue *s, const char *folder, struct err *e);
int write_queue_add_folder(struct write_queue *s, const char *path, struct err *e);
int write_queue_add_file(struct write_queue *s, const char *path, const char *text, mode_t mode,
                         struct err *e);
int write_queue_add_link(struct write_queue *s, const char *path, const char *target,
                         struct err *e);

/* Starts the threads, once. */
void write_queue_start(struct write_queue *s);

/* Waits until run i is written, and takes it: renames its files, which are not durable yet.
 * Returns 0, or -1 with the error of this or an earlier run, after which no run is written. */
int write_queue_wait(struct write_queue *s, size_t i, struct err *e);

/* Makes all runs, which must have been taken, durable: asynchronously, in a process of its own, or
 * at once if none can be started. Returns 0, or -1 if the latter fails. */
int write_queue_sync(struct write_queue *s, struct err *e);

/* Writes and takes all runs, and makes them durable. */
int write_queue_commit(struct write_queue *s, struct err *e);

/* Removes the files of runs that were not taken, and folders made for them if they are empty. */
void write_queue_destroy(struct write_queue *s);

#endif
