/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's words for jobs, explained: why one waits, why one ended without result, what to type. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SLURM_WORDS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SLURM_WORDS_H

#include <stdbool.h>

/* reason: as squeue shows it, "ReqNodeNotAvail, UnavailableNodes:node1" too. "" for one that is not
 * known. */
const char *slurm_words_reason(const char *reason);

/* Does a job with this reason never start, whatever happens to others? */
bool slurm_words_never(const char *reason);

/* state: of a job that ended, "NODE_FAIL". "" for one that says all itself. */
const char *slurm_words_state(const char *state);

#endif
