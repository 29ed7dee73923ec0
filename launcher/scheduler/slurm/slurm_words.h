/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's reasons of jobs, as squeue prints them, such as "ReqNodeNotAvail,
 * UnavailableNodes:node1". */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SLURM_WORDS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SLURM_WORDS_H

#include <stdbool.h>

/* Returns what a reason means and what to type, or "" if it is unknown. */
const char *slurm_words_reason(const char *reason);

/* Returns whether a pending job with this reason waits until it is released. */
bool slurm_words_is_held(const char *reason);

/* Returns whether a job with this reason can never start. */
bool slurm_words_never(const char *reason);

#endif
