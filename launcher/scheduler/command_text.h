/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures what a command of the cluster's Slurm prints, such as `sbatch --help`. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_COMMAND_TEXT_H
#define UNETCTL_LAUNCHER_SCHEDULER_COMMAND_TEXT_H

#include <stdbool.h>

#include "src/buf.h"

/* Appends the standard output of argv, at most 1 MiB and what is printed within 10 seconds, or
 * nothing if the command is missing. in_sandbox: the command runs on the login node of the
 * running sandbox. */
void command_text(char *const argv[], bool in_sandbox, struct buf *dst);

#endif
