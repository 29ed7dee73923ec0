/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether and when a job would run. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_FORECAST_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_FORECAST_H

#include <jansson.h>

/* Returns the answer to "check". away is the number of nodes of the job's partition that are down,
 * drained or do not respond: they may be why the requested node configuration is not available. */
json_t *forecast_check(const json_t *job, int away);

#endif
