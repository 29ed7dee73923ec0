/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs unet-train as a child of unetctl, or in its place. */
#ifndef UNETCTL_LAUNCHER_PLAN_TRAINER_PROGRAM_H
#define UNETCTL_LAUNCHER_PLAN_TRAINER_PROGRAM_H

#include <stdbool.h>

#include "src/err.h"

/* Runs `unet-train ARGV...` (NULL-terminated, without the program's name) with our stderr. 0, or -1
 * with its exit code as the error's. */
int trainer_program_run(const char *const *argv, struct err *e);

/* The same with its stderr discarded; *text gets its stdout, to be freed, whatever its exit code
 * was. -1 only where it could not be run. */
int trainer_program_read(const char *const *argv, char **text, struct err *e);

/* The same, where it must succeed: -1 with its own error and exit code if not. Its warnings are
 * logged if loud. */
int trainer_program_ask(const char *const *argv, bool loud, char **text, struct err *e);

/* Become `unet-train ARGV...`; returns -1 only if that failed. */
int trainer_program_exec(const char *const *argv, struct err *e);

#endif
