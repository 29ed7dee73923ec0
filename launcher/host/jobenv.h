/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables that belong to the job in which unetctl was started. They are set by
 * Slurm, PMI, an MPI launcher, or the job's scripts (TF_CONFIG). srun, MPI and TensorFlow would
 * join that job, or use its GPUs, if they saw them. */
#ifndef UNETCTL_LAUNCHER_HOST_JOBENV_H
#define UNETCTL_LAUNCHER_HOST_JOBENV_H

#include <stdbool.h>

/* Returns whether entry ("NAME=VALUE" or "NAME") belongs to a job. SLURM_CONF does not; any SBATCH_
 * or SRUN_ variable counts as a job's, even if the user set it. */
bool jobenv_is_foreign(const char *entry);

/* Removes all such variables from the environment of this process. */
void jobenv_clean(void);

#endif
