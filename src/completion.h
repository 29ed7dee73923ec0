/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion of command lines in bash, zsh and fish, from the tables of verbs and options: the
 * shells ask the program.
 *
 * The name of a value or operand in the help says what it is: the words of SITE, ENGINE, RUN and
 * KEY come from the program's verb "completion words KIND", KEY also from the settings that the
 * verb's help lists; DIR, STUDY, PATH and FILE are paths. */
#ifndef UNETCTL_SRC_COMPLETION_H
#define UNETCTL_SRC_COMPLETION_H

#include "src/cli.h"

/* Print the script for shell (bash, zsh, fish) on standard output. 0, or -1 with ERR_USAGE. */
int completion_print(const struct cli_program *program, const char *shell, struct err *e);

/* Prints what may replace the last word of a command line (`PROGRAM --complete WORD...`):
 * a line "WORD", or "WORD", a tab and its description. A line ":files" means paths;
 * ":nospace", before the others, says that more follows the word at once. */
void completion_print_words(const struct cli_program *program, int nwords, char **words);

#endif
