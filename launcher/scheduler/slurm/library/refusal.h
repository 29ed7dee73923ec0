/* SPDX-License-Identifier: BSD-3-Clause */
/* Refusals that carry libslurm's errno and its text. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_REFUSAL_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_REFUSAL_H

#include <jansson.h>

json_t *refusal_of_slurm(int code);

#endif
