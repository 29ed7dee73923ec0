/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a job of the local queue: STATE/ID.json, written by unetctl at the submission
 * and then only by the job's keeper. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_RECORD_H
#define UNETCTL_LAUNCHER_SCHEDULER_LOCAL_LOCAL_RECORD_H

#include <limits.h>
#include <stdbool.h>

#include "launcher/host/procid.h"
#include "launcher/scheduler/scheduler.h"

struct local_record {
    struct job_state state; /* as last written */
    struct procid keeper;
};

int local_record_path(const char *dir, const char *id, char dst[PATH_MAX], struct err *e);
int local_record_write(const char *dir, const struct local_record *r, struct err *e);
int local_record_read(const char *dir, const char *id, struct local_record *r, struct err *e);

/* Lists the numbers of all records, ascending. The caller frees *dst. */
int local_record_list(const char *dir, unsigned long **dst, size_t *n, struct err *e);

/* Sets the phase from the state. A job whose keeper has vanished becomes NODE_FAIL. */
void local_record_judge(struct local_record *r);

/* Are processes of the job still running although its keeper was killed? */
bool local_record_has_orphans(const struct local_record *r);

#endif
