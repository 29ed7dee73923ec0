/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of several runs, written by threads while their jobs are submitted.
 *
 * Additions are kept in memory. After the start, the threads make the folders and write the files,
 * run after run. In a new folder files have their final names, and the first file is written last,
 * so that a reader who sees it sees all; in others they are temporary until the run is taken. Of
 * runs that are never taken, nothing remains. A zeroed struct is empty. */
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
        struct write_queue_step *steps; /* the first one is its folder */
        size_t nsteps;
        struct atomicfile_batch files; /* those that are temporary so far */
        bool written, taken;
    } * runs;
    size_t count;
    bool begun;
    size_t nthreads; /* that run */
    pthread_t threads[WRITE_QUEUE_NTHREADS];
    pthread_mutex_t lock; /* of what follows and of written, while threads run */
    pthread_cond_t progress;
    size_t next; /* run */
    int rc; /* not 0: they end early */
    size_t failed; /* the first run that failed, with e */
    struct err e;
};

/* add_run: further additions belong to a new run with this folder. Texts are copied. Not after
 * write_queue_start. A folder or a link that exists is left alone. */
int write_queue_add_run(struct write_queue *s, const char *folder, struct err *e);
int write_queue_add_folder(struct write_queue *s, const char *path, struct err *e);
int write_queue_add_file(struct write_queue *s, const char *path, const char *text, mode_t mode,
                         struct err *e);
int write_queue_add_link(struct write_queue *s, const char *path, const char *target,
                         struct err *e);

/* Starts the threads, once. */
void write_queue_start(struct write_queue *s);

/* Waits until run i is written, and renames its files, which are not durable yet. -1 with the
 * error of this or an earlier run, after which no run is written. */
int write_queue_wait(struct write_queue *s, size_t i, struct err *e);

/* After all runs were taken: makes them durable asynchronously, in a separate process. */
int write_queue_sync(struct write_queue *s, struct err *e);

/* Writes all runs and makes them durable. */
int write_queue_commit(struct write_queue *s, struct err *e);

/* Removes files of runs that were not taken, and the folders made for them if they are empty. */
void write_queue_destroy(struct write_queue *s);

#endif
