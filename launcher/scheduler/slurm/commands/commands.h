/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries Slurm through its commands sinfo, squeue, sacct and scontrol, in
 * output formats that are the same from Slurm 22.05 to 26.05, except that squeue 22.05 prints exit
 * codes as wait statuses. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMANDS_COMMANDS_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMANDS_COMMANDS_H

#include "launcher/scheduler/slurm/interface.h"

extern const struct slurm_interface commands;

#endif
