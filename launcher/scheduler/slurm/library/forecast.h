/* SPDX-License-Identifier: BSD-3-Clause */
/* Would a job run, and when. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_FORECAST_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_FORECAST_H

#include <jansson.h>
#include <stdbool.h>

/* The answer to "check" for a job that fits its partition, of which away nodes are down. */
json_t *forecast_check(const json_t *job, int away);

/* The answer to "foresee": Slurm is asked in a thread; forecast_check of the same job takes what it
 * said. */
json_t *forecast_foresee(json_t *job);

/* Waits for that thread, if it runs. */
void forecast_forget(void);

/* Slurm's reasons to let a job wait for its turn. Any other one lets it wait for ever. */
bool forecast_may_pass(int code);

#endif
