/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that the installed sbatch lists in its help, including those of Slurm's plugins. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SBATCH_HELP_H
#define UNETCTL_LAUNCHER_SCHEDULER_SBATCH_HELP_H

#include <stdbool.h>

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

#endif
