/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains refusals because of limits in accounting or slurm.conf, and because of an invalid
 * account or QOS: which limit it was and whose, or which accounts and QOS the user may choose. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H

#include <jansson.h>

/* Adds the name of the limit to a refusal, as its member "limit". `said` is what Slurm printed
 * beside its error; the name is alone on a line of it. Without such a line the refusal stays as it
 * is. `said` is changed. */
void limits_name(json_t *refusal, char *said);

/* Returns answer, the answer to a check or submission of job. A refusal because of a limit, an
 * account or a QOS is released, and a new refusal with what sacctmgr and scontrol know about that
 * is returned; of another cause it gets the advice that cause.h has for it. Its cause becomes
 * CAUSE_FULL if the job may be submitted again when others have ended. */
json_t *limits_explain(const json_t *job, json_t *answer);

#endif
