/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one of Slurm's commands, without a shell and without the variables of another job
 * or the user's options for these commands. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H

#include <jansson.h>

#include "src/buf.h"

struct command {
    struct buf out, err; /* its stdout and stderr */
    int code;            /* its exit code, or 128 + the signal that ended it */
};

/* Runs argv (NULL-terminated) to its end. Returns NULL, or a refusal if the command cannot be
 * started or memory ran out. command_destroy must be called in either case. Thread-safe. */
json_t *command_run(const char *const argv[], struct command *dst);
void command_destroy(struct command *c);

/* Words before a command that prints times: it then prints seconds since 1970. */
#define COMMAND_EPOCH_TIMES "env", "SLURM_TIME_FORMAT=%s"

/* Copies the value of a setting in the output of `scontrol show config`, or "". Returns dst. */
const char *command_setting(const char *config, const char *name, char *dst, size_t size);

/* Returns the last line of text that is not empty, without a leading "sbatch: error: ". A hint at
 * the end (Try "sbatch --help" ...) is left out. Changes text; the result points into it. */
char *command_last_line(char *text);

/* Returns the refusal of a command that failed, with the reason that it printed, or else its exit
 * code, and with the cause of that text; CAUSE_LOST if a signal ended it. Changes c->out and
 * c->err. */
json_t *command_refuse(const char *name, struct command *c);

#endif
