/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of a job in the local queue: a process that outlives unetctl, waits for the job's
 * turn, runs the script, enforces the time limit, and writes the job's record. It leads the
 * session that all processes of the job belong to. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_KEEPER_H
#define UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_KEEPER_H

#include <signal.h>
#include <sys/types.h>

#include "launcher/scheduler/local/local_record.h"

/* The caller sets dir (the folder of the queue), job, record.state and max_in_flight. The rest is
 * private. */
struct local_keeper {
    const char *dir;
    const struct job *job;
    struct local_record record;
    int max_in_flight;
    unsigned long *before; /* numbers of earlier jobs that may be pending or running */
    size_t nbefore;
    sigset_t signals; /* CHLD, and TERM, which cancels the job */
};

/* Starts a keeper, which does nothing until the caller has written the job's first record and
 * sends a byte on *channel, which the caller closes. If it is closed without a byte, as when the
 * caller is killed, the keeper runs the job if the record exists, and ends otherwise. Returns the
 * keeper's pid, or -1 with ERR_SCHED. */
pid_t local_keeper_start(struct local_keeper *k, int *channel, struct err *e);

#endif
