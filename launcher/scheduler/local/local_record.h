/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a job of the local queue: the file ID.json in dir, the queue's folder. The job's
 * runner writes it, and at its start the script's process; if the runner was killed, a
 * cancellation. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_RECORD_H
#define UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_RECORD_H

#include <limits.h>
#include <stdbool.h>

#include "launcher/host/procid.h"
#include "launcher/scheduler/scheduler.h"

struct local_record {
    struct job_state state; /* as in the file; local_record_judge corrects it */
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
 * another process exists, gets the state NODE_FAIL. The file is not changed. */
void local_record_judge(struct local_record *r);

/* Returns whether processes of the job are still running although its runner was killed. */
bool local_record_has_orphans(const struct local_record *r);

#endif
