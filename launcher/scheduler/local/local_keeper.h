/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of a job of the local queue: a process that outlives unetctl, waits for the job's
 * turn, runs the script, enforces its time limit, and writes the job's record. It leads the
 * session of all processes of the job. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_KEEPER_H
#define UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_KEEPER_H

#include <signal.h>
#include <sys/types.h>

#include "launcher/scheduler/local/local_record.h"

/* The caller sets dir, job, record.state and max_in_flight; the rest is private. */
struct local_keeper {
    const char *dir;
    const struct job *job;
    struct local_record record;
    int max_in_flight;
    unsigned long *before; /* numbers of jobs before this one that may wait or run */
    size_t nbefore;
    sigset_t signals; /* CHLD, and TERM: cancelled */
};

/* Start a keeper that waits for a byte on *channel; its pid, or -1. */
pid_t local_keeper_start(struct local_keeper *k, int *channel, struct err *e);

#endif
