/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion of command lines in bash, zsh and fish, from the tables of verbs and options.
 *
 * What an option's value or an operand is, its name in the help tells: SITE, ENGINE, RUN and KEY
 * are asked from `PROGRAM completion words KIND`, DIR, STUDY, PATH and FILE are completed as
 * paths. */
#ifndef UNETCTL_SRC_COMPLETION_H
#define UNETCTL_SRC_COMPLETION_H

#include "src/cli.h"

/* Print the script for shell (bash, zsh, fish) on standard output. 0, or -1 with ERR_USAGE. */
int completion_print(const struct cli_program *program, const char *shell, struct err *e);

#endif
