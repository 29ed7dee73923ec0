/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables that belong to another job: left by Slurm, PMI or an MPI launcher when
 * unetctl itself was typed inside a job. Taken over, they make srun and MPI join that job. */
#ifndef UNETCTL_LAUNCHER_HOST_JOBENV_H
#define UNETCTL_LAUNCHER_HOST_JOBENV_H

#include <stdbool.h>

/* entry: "NAME=VALUE" or "NAME". SLURM_CONF is no such variable. */
bool jobenv_is_foreign(const char *entry);

/* Take them out of this process's environment. */
void jobenv_clean(void);

#endif
