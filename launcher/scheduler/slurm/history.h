/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that ended: the answer to "accounting", and the file of jobcomp/filetxt. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H

#include <jansson.h>
#include <time.h>

struct history_job {
    const char *id, *state, *nodes;
    int exit_code, signal;
    time_t started, ended;
    json_t *tres; /* what was allocated, by name: see history_add_tres; NULL: not known */
};

/* Returns the job as an answer lists it; takes over its tres. */
json_t *history_describe(const struct history_job *j);

/* Adds "cpu": 4, "gres/gpu": 2 to an object, memory in MiB, measured energy in joules. Zero, and
 * Slurm's largest numbers, which mean unknown, are left out. */
void history_add_tres(json_t *dst, const char *name, long long count);

/* Appends the jobs with these ids to jobs. The file has a line for each end of a job, so the last
 * one of a requeued job counts. Returns 0, or -1 if it cannot be read. */
int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs);

#endif
