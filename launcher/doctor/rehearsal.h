/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that looks around instead of training: generated, submitted and started exactly as the runs
 * of the study are, below STUDY/.unetctl/doctor, with a program as its trainer that leaves what
 * each rank sees (probe.h). */
#ifndef UNETCTL_LAUNCHER_DOCTOR_REHEARSAL_H
#define UNETCTL_LAUNCHER_DOCTOR_REHEARSAL_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "launcher/study/workspace.h"

struct rehearsal {
    int gpus;
    bool in_allocation; /* start the ranks here, inside the job that we are in; else submit one */
    long timeout_s;
    /* filled by rehearsal_run */
    char folder[PATH_MAX - 64];
    json_t *ranks; /* by index: what it left, or null */
};

/* 0, also when ranks left nothing; -1 when the rehearsal could not be made, refused (ERR_SCHED) or
 * did not end in time (ERR_TIMEOUT: its job is cancelled). rehearsal_close drops ranks in any
 * case. */
int rehearsal_run(struct workspace *w, struct rehearsal *r, struct err *e);

/* Removes the folder, too, unless keep. */
void rehearsal_close(struct rehearsal *r, bool keep);

/* The first line of that output that speaks of an error. */
bool rehearsal_find_error(const struct rehearsal *r, char dst[512]);

/* Print the output of the ranks and their launcher on standard error. */
void rehearsal_show_output(const struct rehearsal *r);

#endif
