/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries Slurm through libslurm. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_LIBRARY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_LIBRARY_H

#include "launcher/scheduler/slurm/interface.h"

/* Usable between slurm_init and slurm_fini. */
extern const struct slurm_interface library;

#endif
