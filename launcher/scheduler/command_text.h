/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures what a command of the cluster's Slurm prints, such as `sbatch --help`. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_COMMAND_TEXT_H
#define UNETCTL_LAUNCHER_SCHEDULER_COMMAND_TEXT_H

#include <stdbool.h>

#include "src/buf.h"

/* Appends to dst what argv prints on stdout within 10 seconds, up to about 1 MiB; nothing if the
 * command is missing. argv ends with NULL. in_sandbox: the command runs on the login node of the
 * running sandbox, and nothing is appended if none runs. */
void command_text(char *const argv[], bool in_sandbox, struct buf *dst);

#endif
