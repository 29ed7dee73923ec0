/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that have ended: the answer to "accounting", and the file that jobcomp/filetxt writes. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H

#include <jansson.h>
#include <time.h>

struct history_job {
    const char *id, *state, *nodes;
    int exit_code, signal;
    time_t started, ended;
    json_t *tres; /* the allocated resources by name, see history_add_tres; NULL: unknown */
};

/* Returns the job as an element of the answer. Takes ownership of its tres. */
json_t *history_describe(const struct history_job *j);

/* Adds a resource such as "cpu": 4 or "gres/gpu": 2 to an object, memory in MiB, measured energy
 * in joules. Zero and Slurm's largest numbers, which mean unknown, are omitted. */
void history_add_tres(json_t *dst, const char *name, long long count);

/* Appends the jobs with these ids to jobs. The file has one line for each time a job ended, so
 * the last line of a requeued job counts. Returns 0, or -1 if the file cannot be read. */
int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs);

#endif
