/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that examines the nodes instead of training (unetctl doctor --gpus). It is generated below
 * STUDY/.unetctl/doctor, and submitted (unless the ranks start inside the present job) and started
 * as the study's runs are, with a trainer that writes what each rank sees (probe.h). */
#ifndef UNETCTL_LAUNCHER_DOCTOR_REHEARSAL_H
#define UNETCTL_LAUNCHER_DOCTOR_REHEARSAL_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "launcher/study/run_dir.h"
#include "launcher/study/workspace.h"

struct rehearsal {
    int gpus;
    /* start the ranks inside the job that this process is in; otherwise submit a job */
    bool in_allocation;
    bool bandwidth; /* measure what connects the ranks (bandwidth.h), and write no reports */
    long timeout_s; /* how long to wait for its end */
    /* set by rehearsal_run */
    char folder[PATH_MAX - 64];
    json_t *ranks; /* by rank: its report, or null */
    struct run_attempt attempt; /* with bandwidth: of the job, after its end */
};

/* Runs the rehearsal. Returns 0, also if ranks left no report, or -1 if it could not be made, was
 * refused (ERR_SCHED), was interrupted (ERR_INTERRUPT) or did not end in time (ERR_TIMEOUT). In the
 * last two cases the job is cancelled. The caller releases ranks by rehearsal_close in any case. */
int rehearsal_run(struct workspace *w, struct rehearsal *r, struct err *e);

/* Releases ranks and, unless keep is true, removes the folder. */
void rehearsal_close(struct rehearsal *r, bool keep);

/* Finds the first line of the job's output that has the word "error". Returns false and sets dst
 * to "" if there is none. */
bool rehearsal_find_error(const struct rehearsal *r, char dst[512]);

/* Prints the first 20 lines of the job's output, that of the ranks and their launcher, on standard
 * error. */
void rehearsal_show_output(const struct rehearsal *r);

/* Runs as one rank, in the run's folder: writes what it sees to the rehearsal's folder (probe.h),
 * and the marker DONE of the attempt. Returns 0 or -1. */
int rehearsal_probe(const char *folder, const char *stage, struct err *e);

#endif
