/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences between the releases of Slurm from 22.05 to 26.05. No other file is compiled
 * differently for another release; library.c compares the release with the cluster's. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_VERSION_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_VERSION_H

#include <slurm/slurm.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "unetctl-slurm needs Slurm 22.05 or later; configure --without-slurm leaves it out"
#endif

/* slurm_free_conf has this name from 26.05. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
#define slurm_free_conf slurm_free_ctl_conf
#endif

#endif
