/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm-commands answers the same requests as unetctl-slurm (PROTOCOL.md) without
 * libslurm. */
#include "config.h"

#include "launcher/scheduler/slurm/commands/commands.h"
#include "launcher/scheduler/slurm/serve.h"

int main(int argc, char **argv)
{
    int code = serve_check_start(argc, argv);

    if (code)
        return code;
    serve(&commands);
    return 0;
}
