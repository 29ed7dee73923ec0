/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm: Slurm's C interface as JSON lines (PROTOCOL.md).
 *
 * The only program that links libslurm: libslurm ends its process when it finds no usable
 * configuration, is under the GPL, and changes its ABI with each release (version.h). */
#include "config.h"

#include <slurm/slurm.h>
#include <stdlib.h>

#include "launcher/scheduler/slurm/library/library.h"
#include "launcher/scheduler/slurm/serve.h"

int main(int argc, char **argv)
{
    int code = serve_check_start(argc, argv);

    if (code)
        return code;
    unsetenv("SLURM_DEBUG_FLAGS"); /* sbatch's; from 24.11 on libslurm ends if it has a wrong one */
    slurm_init(NULL);
    serve(&library);
    slurm_fini();
    return 0;
}
