/* SPDX-License-Identifier: BSD-3-Clause */
/* What commands of the cluster's Slurm print, and the options that the installed sbatch lists in
 * its help, including those of Slurm's plugins. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SBATCH_HELP_H
#define UNETCTL_LAUNCHER_SCHEDULER_SBATCH_HELP_H

#include <stdbool.h>

#include "src/buf.h"

enum sbatch_help {
    SBATCH_HELP_NONE, /* not listed, or sbatch is not installed */
    SBATCH_HELP_FLAG,
    SBATCH_HELP_OPTIONAL, /* a value may follow '=' */
    SBATCH_HELP_VALUE
};

/* Looks for --NAME in the help of sbatch; in_sandbox: of the running sandbox's sbatch. */
enum sbatch_help sbatch_help_find(const char *name, bool in_sandbox);

/* Looks for --NAME in text, which is the output of `sbatch --help`. */
enum sbatch_help sbatch_help_parse(const char *text, const char *name);

/* Appends to dst what argv prints on stdout within 10 seconds, up to about 1 MiB; nothing if the
 * command is missing. argv ends with NULL. in_sandbox: the command runs on the login node of the
 * running sandbox, and nothing is appended if none runs. */
void sbatch_help_ask(char *const argv[], bool in_sandbox, struct buf *dst);

#endif
