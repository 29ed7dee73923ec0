/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that are submitted by sbatch itself: the member "words" of the job holds its command
 * line. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SBATCH_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SBATCH_H

#include <jansson.h>

/* Returns the answer to a submission: the job's id, or a refusal, with CAUSE_LOST if Slurm may
 * have accepted the job nevertheless. Thread-safe. */
json_t *sbatch_submit(const json_t *job);

/* Returns the answer to "check", by sbatch --test-only. away is the number of nodes of the job's
 * partition that are down, drained or do not respond: if there are any, the job is not refused when
 * Slurm says that the requested node configuration is not available. */
json_t *sbatch_forecast(const json_t *job, int away);

#endif
