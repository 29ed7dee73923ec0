/* SPDX-License-Identifier: BSD-3-Clause */
/* What limits of accounting or of slurm.conf refuse: which limit it was and whose, or which
 * accounts and QOS there are. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H

#include <jansson.h>

/* Adds the name of the limit to a refusal. said: what Slurm printed beside its error, with the
 * name alone in a line; changed. */
void limits_name(json_t *refusal, char *said);

/* Replaces the answer to a check or submission of job if it is a refusal for such a reason:
 * sacctmgr and scontrol know the limits. "full" is set where the job may be submitted again once
 * others have ended. Safe in several threads. */
json_t *limits_explain(const json_t *job, json_t *answer);

#endif
