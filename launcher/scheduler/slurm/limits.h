/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains refusals because of limits in accounting or slurm.conf: which limit it was and whose,
 * or which accounts and QOS the user may choose. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H

#include <jansson.h>

/* Adds the name of the limit to a refusal. said is what Slurm printed beside its error, where
 * the name is alone on a line; it is changed. */
void limits_name(json_t *refusal, char *said);

/* Replaces the answer to a check or submission of job if it is a refusal because of a limit, by
 * means of sacctmgr and scontrol. Sets "full" if the job may be submitted again when others have
 * ended. Thread-safe. */
json_t *limits_explain(const json_t *job, json_t *answer);

#endif
