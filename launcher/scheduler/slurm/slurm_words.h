/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains Slurm's words about jobs: why one is pending, why one ended without a result, and
 * what to type. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SLURM_WORDS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SLURM_WORDS_H

#include <stdbool.h>

/* Explains a reason as squeue prints it, such as "ReqNodeNotAvail, UnavailableNodes:node1".
 * Returns "" if the reason is unknown. */
const char *slurm_words_reason(const char *reason);

/* Explains a text with which Slurm refuses a job. Returns "" if it needs no explanation, or has
 * one by accounting (limits.h). */
const char *slurm_words_refusal(const char *text);

/* Does a pending job with this reason wait until it is released? */
bool slurm_words_is_held(const char *reason);

/* Can a job with this reason never start? */
bool slurm_words_never(const char *reason);

/* Explains the state of a job that ended, such as NODE_FAIL. Returns "" if it needs no
 * explanation. */
const char *slurm_words_state(const char *state);

#endif
