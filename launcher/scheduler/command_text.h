/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command of the cluster's Slurm prints, such as `sbatch --help`. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_COMMAND_TEXT_H
#define UNETCTL_LAUNCHER_SCHEDULER_COMMAND_TEXT_H

#include <stdbool.h>

#include "src/buf.h"

/* Appends the standard output of argv, at most 1 MiB, as it is printed within 10 seconds; nothing
 * where the command is missing. in_sandbox: it runs on the login node of the running sandbox. */
void command_text(char *const argv[], bool in_sandbox, struct buf *dst);

#endif
