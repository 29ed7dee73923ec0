/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm-commands: the same conversation as unetctl-slurm (PROTOCOL.md), without libslurm. */
#include "config.h"

#include <stdio.h>

#include "launcher/slurm/commands.h"
#include "launcher/slurm/serve.h"

int main(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "%s: unetctl starts this program and talks to it on stdin; see PROTOCOL.md\n",
                argv[0]);
        return 2;
    }
    if (serve_check_configuration())
        return 1;
    serve(&commands);
    return 0;
}
