/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables that belong to another job: set by Slurm, PMI or an MPI launcher when
 * unetctl was started inside a job. They would make srun and MPI join that job. */
#ifndef UNETCTL_LAUNCHER_HOST_JOBENV_H
#define UNETCTL_LAUNCHER_HOST_JOBENV_H

#include <stdbool.h>

/* entry: "NAME=VALUE" or "NAME". SLURM_CONF does not belong to a job. */
bool jobenv_is_foreign(const char *entry);

/* Removes them from this process's environment. */
void jobenv_clean(void);

#endif
