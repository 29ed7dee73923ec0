/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion of command lines in bash, zsh and fish. The shells ask the program, which answers
 * from its tables of verbs and options.
 *
 * The placeholder of a value or operand in the help decides its words: those of SITE, ENGINE, RUN
 * and KEY come from the program's verb "completion words KIND", those of KEY also from the
 * settings that the verb's help lists; DIR, FOLDER, STUDY, PATH and FILE are paths. completion.c
 * has the whole table. */
#ifndef UNETCTL_SRC_COMPLETION_H
#define UNETCTL_SRC_COMPLETION_H

#include "src/cli.h"

/* Prints the script for shell (bash, zsh, fish) on standard output. Returns 0, or -1 with
 * ERR_USAGE. */
int completion_print(const struct cli_program *program, const char *shell, struct err *e);

/* Prints what may replace the last of words, the command line after the program's name (`PROGRAM
 * --complete WORD...`), whatever that word begins with, except that a "-" asks for options: the
 * shell selects. Prints lines of "WORD", or of "WORD", a tab and a description. A line ":files"
 * asks the shell for paths. A line ":nospace", before the others, says that more may follow the
 * word without a space. */
void completion_print_words(const struct cli_program *program, int nwords, char **words);

#endif
