/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether and when a job would run. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_FORECAST_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_FORECAST_H

#include <jansson.h>
#include <stdbool.h>

/* Returns the answer to "check" for a job that fits its partition. away is the number of nodes of
 * the partition that are down, drained or do not respond. */
json_t *forecast_check(const json_t *job, int away);

/* Returns the answer to "foresee": a thread asks Slurm, and forecast_check of the same job uses
 * its result. */
json_t *forecast_foresee(json_t *job);

/* Waits for that thread if it is running, and discards its result. */
void forecast_forget(void);

/* Is code, an errno of Slurm, one of the reasons for which it makes a job wait for its turn? With
 * any other reason the job would wait for ever. */
bool forecast_may_pass(int code);

#endif
