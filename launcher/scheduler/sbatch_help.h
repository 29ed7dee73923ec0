/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that the installed sbatch lists in its help, those of Slurm's plugins included. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SBATCH_HELP_H
#define UNETCTL_LAUNCHER_SCHEDULER_SBATCH_HELP_H

#include <stdbool.h>
#include <stddef.h>

enum sbatch_help {
    SBATCH_HELP_NONE, /* not listed, or there is no sbatch that could be asked */
    SBATCH_HELP_FLAG,
    SBATCH_HELP_OPTIONAL, /* a value may follow '=' */
    SBATCH_HELP_VALUE
};

/* What the help says of --NAME. in_sandbox: the sbatch of the running sandbox is asked. */
enum sbatch_help sbatch_help_find(const char *name, bool in_sandbox);

/* The same in a given text. */
enum sbatch_help sbatch_help_parse(const char *text, const char *name);

#endif
