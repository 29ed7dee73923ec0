/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's own names of states and reasons, as squeue prints them: no header of Slurm declares a
 * function that returns them. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_NAMES_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_NAMES_H

#include <stdint.h>

/* Returns the name of a job_state, flags included. */
const char *names_state(uint32_t state);

/* Returns the name of a job_state_reason, or "" for one that is rarer than those known here. */
const char *names_reason(uint32_t reason);

#endif
