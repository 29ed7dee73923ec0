/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that the controller has forgotten: in the file of Slurm's plugin jobcomp/filetxt, and in
 * slurmdbd. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_HISTORY_H

#include <jansson.h>

/* Appends one element to jobs for each line of the file whose job is in ids. There is one line for
 * each time that a job ended, so of several elements for a requeued job the last one counts.
 * Returns 0, or -1 if the file cannot be opened. */
int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs);

/* Likewise for the jobs that sacct shows. One that had all CPUs of its nodes, whose energy a plugin
 * of Slurm counts, has it as "joules" over "joules_s" seconds. Returns 0, or -1 if sacct fails. */
int history_read_sacct(const json_t *ids, json_t *jobs);

#endif
