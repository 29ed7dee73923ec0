/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs unet-train as a child of unetctl, or in its place. */
#ifndef UNETCTL_LAUNCHER_PLAN_TRAINER_PROGRAM_H
#define UNETCTL_LAUNCHER_PLAN_TRAINER_PROGRAM_H

#include <stdbool.h>

#include "src/err.h"

/* Runs `unet-train ARGV...` (NULL-terminated, without the program's name); its stdout and stderr
 * go to the caller's stderr. Returns 0, or -1 with the program's exit code in e. */
int trainer_program_run(const char *const *argv, struct err *e);

/* Runs it with its stderr discarded. *text gets its stdout, which the caller frees, whatever its
 * exit code is. Returns 0, or -1 if it could not be run. */
int trainer_program_read(const char *const *argv, char **text, struct err *e);

/* The same for words that must succeed: returns -1 with unet-train's own error and exit code if
 * they do not, and nothing to free. Its warnings are logged if `loud`. */
int trainer_program_ask(const char *const *argv, bool loud, char **text, struct err *e);

/* Replaces this process by `unet-train ARGV...`; returns, with -1, only if that failed. */
int trainer_program_exec(const char *const *argv, struct err *e);

#endif
