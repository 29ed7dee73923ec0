/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that sbatch itself submits. */
#ifndef UNETCTL_LAUNCHER_SLURM_SBATCH_H
#define UNETCTL_LAUNCHER_SLURM_SBATCH_H

#include <jansson.h>

/* A job with words that are sbatch's business: "sbatch" has them all. mode: --parsable or --test-only.
 * The answer of a submission has the id. */
json_t *sbatch_ask(const json_t *job, const char *mode);

#endif
