/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains refusals because of limits in accounting or slurm.conf, and because of an invalid
 * account or QOS: which limit it was and whose, or which accounts and QOS the user may choose. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIMITS_H

#include "launcher/scheduler/job.h"
#include "launcher/scheduler/slurm/cause.h"

struct sandbox;

/* Adds to e, the refusal of a job with these options, what sacctmgr and scontrol know about a
 * limit, an account or a QOS, or the advice that cause.h has. said is what sbatch printed: one of
 * its lines is the name of a limit. Returns the cause, which becomes CAUSE_FULL if the job may be
 * submitted again when others have ended. */
enum cause limits_explain(const struct sandbox *sandbox, const struct job_options *o,
                          enum cause cause, const char *said, struct err *e);

#endif
