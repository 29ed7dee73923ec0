/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs of this machine, without Slurm: the queue is a folder with a record for each job.
 *
 * A submission starts a runner: a process that outlives unetctl, runs the scripts of its jobs in
 * their turn, each in a session of its own, enforces time limits, and writes the jobs' records.
 * scheduler_local.c reads the records for struct scheduler_ops, which is all that other rooms call
 * (scheduler_local_open, scheduler.h). Records survive a crash of either: of a job whose runner is
 * gone, procids show whether its processes live, so that nothing is said to run that does not.
 *
 * Read scheduler_local.c from scheduler_local_open on, then local_runner.c. */
#pragma once

#include "src/base.h"

#include "launcher/host/child.h"
#include "launcher/scheduler/scheduler.h"

/* The record of a job of the local queue: the file ID.json in dir, the queue's folder. The job's
 * runner writes it, and at its start the script's process; if the runner was killed, a
 * cancellation. */
struct local_record {
    struct job_state state; /* as in the file; local_record_judge corrects it */
    char host[64];          /* of its processes */
    struct procid runner;
    struct procid script; /* leads the job's session; pid 0 before it starts */
};

/* These return 0, or -1. */
int local_record_path(const char *dir, const char *id, char dst[PATH_MAX], struct err *e);
int local_record_write(const char *dir, const struct local_record *r, struct err *e);
int local_record_read(const char *dir, const char *id, struct local_record *r, struct err *e);

/* Lists the numbers of all records, ascending. The caller frees *dst, which is NULL if there are
 * none. Returns 0, or -1 with *dst NULL. */
int local_record_list(const char *dir, unsigned long **dst, size_t *n, struct err *e);

/* Sets the phase by the times. A job that has not ended, but of which neither the runner nor
 * another process exists, gets the state NODE_FAIL, or UNKNOWN if it is one of another host, which
 * shares the queue's folder dir. The file is not changed. */
void local_record_judge(const char *dir, struct local_record *r);

/* Returns whether processes of the job are still running although its runner was killed. */
bool local_record_has_orphans(const struct local_record *r);

/* Starts a runner of these jobs in the queue's folder dir, and returns when each has a record, or
 * one was refused. Until then the runner shares the caller's locks: a process that takes the
 * ledger's lock sees all jobs, even if the caller was killed. */
void local_runner_start(const char *dir, int max_in_flight, const struct job *jobs, size_t count,
                        struct scheduler_result *results);

/* Asks the runner to cancel this job. Returns 0, or -1. */
int local_runner_cancel(const struct local_record *r, struct err *e);
