/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that have ended: the answer to the request "accounting" of PROTOCOL.md, and the file that
 * Slurm's plugin jobcomp/filetxt writes. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H

#include <jansson.h>
#include <time.h>

struct history_job {
    const char *id, *state, *nodes, *name, *user;
    long uid; /* of who submitted it; -1: unknown */
    int exit_code, signal;
    time_t submitted, started, ended;
    json_t *tres; /* the allocated resources by name, see history_add_tres; NULL: unknown */
};

/* Returns the job as an element of the answer. Takes ownership of its tres. */
json_t *history_describe(const struct history_job *j);

/* Adds a resource such as "cpu": 4 or "gres/gpu": 2 to an object, memory in MiB, measured energy
 * in joules. Zero, negative numbers and Slurm's largest numbers, which mean unknown, are
 * omitted. */
void history_add_tres(json_t *dst, const char *name, long long count);

/* Appends one element to jobs for each line of the file whose job is in ids. There is one line for
 * each time that a job ended, so of several elements for a requeued job the last one counts.
 * Returns 0, or -1 if the file cannot be opened. */
int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs);

#endif
