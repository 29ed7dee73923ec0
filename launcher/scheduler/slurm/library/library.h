/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries Slurm through libslurm. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_LIBRARY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_LIBRARY_H

#include "launcher/scheduler/slurm/way.h"

/* Usable between slurm_init and slurm_fini. */
extern const struct way library;

#endif
