/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs are submitted, and tested before, by sbatch. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SBATCH_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SBATCH_H

#include "launcher/scheduler/scheduler.h"

struct sandbox;

/* How long sbatch may take to submit a job. UNETCTL_SBATCH_S replaces it in tests. */
#define SBATCH_LIMIT_S 150

/* Submits a job in the sandbox, or for NULL by this machine's Slurm, and logs what sbatch prints
 * beside the job's id. When it returns, sbatch and all that it started has ended, so no job is
 * submitted later. The result is SCHEDULER_SUBMITTED, SCHEDULER_REFUSED or SCHEDULER_LOST. It is
 * LOST with is_full if sbatch was ended because the queue is full: it had not tried again, so a
 * query that does not show the job is sure. */
void sbatch_submit(const struct sandbox *sandbox, const struct job *job,
                   struct scheduler_result *dst);

/* Finds whether and when Slurm would start the job. away is the number of nodes of its partition
 * that are down, drained or do not respond: if there are any, the job is not refused when Slurm
 * says that the requested node configuration is not available. Returns 0, or -1 with ERR_SCHED. */
int sbatch_forecast(const struct sandbox *sandbox, const struct job *job, int away,
                    struct scheduler_forecast *dst, struct err *e);

#endif
