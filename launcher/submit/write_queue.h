/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of several runs, written by threads of their own while their jobs are talked about.
 *
 * What is added is only kept in memory. Once begun, the threads make the folders and write the
 * files, run after run. In a folder that is new they have their own names at once, the first file
 * last, so that who sees it sees all; in others they are temporary until the run is taken. Of runs
 * that are never taken nothing stays. A zeroed struct is empty. */
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

/* What is added next belongs to a new run with this folder. Texts are copied. Not after
 * write_queue_start. A folder or a link that exists is left alone. */
int write_queue_add_run(struct write_queue *s, const char *folder, struct err *e);
int write_queue_add_folder(struct write_queue *s, const char *path, struct err *e);
int write_queue_add_file(struct write_queue *s, const char *path, const char *text, mode_t mode,
                         struct err *e);
int write_queue_add_link(struct write_queue *s, const char *path, const char *target,
                         struct err *e);

/* Once. */
void write_queue_start(struct write_queue *s);

/* Waits until run i has been written, and gives its files their names, which are not durable yet.
 * An error of it or of one before it; those behind one that failed are not there. */
int write_queue_wait(struct write_queue *s, size_t i, struct err *e);

/* After all were taken: a process of its own makes them durable, which nobody waits for. */
int write_queue_sync(struct write_queue *s, struct err *e);

/* All of it at once, durable. */
int write_queue_commit(struct write_queue *s, struct err *e);

/* Empties it; removes what was not taken: files, and folders made for them if nothing else is
 * inside. */
void write_queue_destroy(struct write_queue *s);

#endif
