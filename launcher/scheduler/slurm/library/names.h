/* SPDX-License-Identifier: BSD-3-Clause */
/* The states for Slurm's numbers, and the names of its reasons, as squeue prints them. No header of
 * Slurm declares functions that return them. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_NAMES_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_NAMES_H

#include <stdint.h>

#include "launcher/scheduler/state.h"

/* Returns the state of a job_state: that of its first flag in the table if it has any, otherwise
 * that of its base state. */
enum state names_state(uint32_t state);

/* Returns the name of a job_state_reason, or "" for one that is not in the table. */
const char *names_reason(uint32_t reason);

#endif
