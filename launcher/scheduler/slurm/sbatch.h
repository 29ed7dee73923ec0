/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that sbatch itself submits: "words" of a job has its command line. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SBATCH_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SBATCH_H

#include <jansson.h>

/* Returns the answer to a submission: its id, or a refusal, with "lost" where Slurm may have taken
 * the job all the same. Safe in several threads. */
json_t *sbatch_submit(const json_t *job);

/* Returns the answer to "check" by sbatch --test-only. While nodes are away, Slurm's "not
 * available" does not refuse the job. */
json_t *sbatch_forecast(const json_t *job, int away);

#endif
