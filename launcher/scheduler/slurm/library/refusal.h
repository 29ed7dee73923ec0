/* SPDX-License-Identifier: BSD-3-Clause */
/* Refusals by libslurm's errno. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_REFUSAL_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_REFUSAL_H

#include <jansson.h>

#include "launcher/scheduler/slurm/cause.h"

enum cause refusal_cause(int code);

/* Returns the refusal with Slurm's text for the code. */
json_t *refusal_of_slurm(int code);

#endif
