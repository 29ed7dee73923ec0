/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of several runs, written by a thread of its own while their jobs are talked about.
 *
 * What is added is only kept in memory. Once begun, the thread makes the folders and writes the files, run
 * after run, under temporary names. They get their own names at once if the run's folder is new, else when
 * the run is taken; then the thread makes all durable. Of runs that are never taken nothing stays. A
 * zeroed struct is empty. */
#ifndef UNETCTL_LAUNCHER_STAGING_H
#define UNETCTL_LAUNCHER_STAGING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/atomicfile.h"

struct staging {
    struct staging_run {
        struct staging_step *steps; /* the first one is its folder */
        size_t nsteps;
        struct atomicfile_batch files; /* written so far */
        bool named, taken;
    } * runs;
    size_t count;
    bool begun, threaded, finished;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows, while the thread runs */
    pthread_cond_t progress;
    size_t written, ntaken; /* runs */
    bool stop;
    int rc; /* of the thread, and why it ended early */
    struct err e;
};

/* What is added next belongs to a new run with this folder. Texts are copied. Not after staging_begin. A
 * folder or a link that exists is left alone. */
int staging_add_run(struct staging *s, const char *folder, struct err *e);
int staging_add_folder(struct staging *s, const char *path, struct err *e);
int staging_add_file(struct staging *s, const char *path, const char *text, mode_t mode, struct err *e);
int staging_add_link(struct staging *s, const char *path, const char *target, struct err *e);

/* Once. */
void staging_begin(struct staging *s);

/* Waits until run i has been written, and gives its files their names, which are not durable yet. */
int staging_take(struct staging *s, size_t i, struct err *e);

/* After all were taken: waits until they are durable. */
int staging_finish(struct staging *s, struct err *e);

/* All of it at once. */
int staging_commit(struct staging *s, struct err *e);

/* Empties it; removes what was not taken: files, and folders made for them if nothing else is inside. */
void staging_destroy(struct staging *s);

#endif
