/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/host/jobenv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool jobenv_is_foreign(const char *entry)
{
    static const char *const prefixes[] = {"SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "PMI_", "PMIX_",
                                           "OMPI_COMM_", "PRTE_", "MPI_LOCAL", NULL};
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "TF_CONFIG", NULL};

    if (strncmp(entry, "SLURM_CONF=", 11) == 0 || strcmp(entry, "SLURM_CONF") == 0)
        return false;
    for (const char *const *p = prefixes; *p; p++)
        if (strncmp(entry, *p, strlen(*p)) == 0)
            return true;
    for (const char *const *p = names; *p; p++) {
        size_t n = strlen(*p);
        if (strncmp(entry, *p, n) == 0 && (entry[n] == '=' || entry[n] == 0))
            return true;
    }
    return false;
}

void jobenv_clean(void)
{
    size_t i = 0;

    while (environ && environ[i]) {
        if (!jobenv_is_foreign(environ[i])) {
            i++;
            continue;
        }
        char *name = strndup(environ[i], strcspn(environ[i], "="));
        if (!name || unsetenv(name) < 0)
            i++;
        free(name);
    }
}
