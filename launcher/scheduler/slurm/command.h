/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one of Slurm's commands, without a shell and without the variables of another job. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H

#include <jansson.h>

#include "src/buf.h"

struct command {
    struct buf out, err; /* what it printed on stdout and stderr */
    int code;            /* its exit code; 128 + the signal that ended it */
};

/* Runs argv (ends with NULL) to its end. Returns NULL, or a refusal if it cannot be started or
 * memory runs out; command_destroy is due in any case. Safe in several threads. */
json_t *command_run(const char *const argv[], struct command *dst);
void command_destroy(struct command *c);

/* Put in front of a command that prints times: it then prints seconds since 1970. */
#define COMMAND_EPOCH_TIMES "env", "SLURM_TIME_FORMAT=%s"

/* Returns the last line with text, without an "sbatch: error: " in front; changes text. */
char *command_last_line(char *text);

/* Returns the refusal of a command that failed: the reason that it printed. */
json_t *command_refuse(const char *name, struct command *c);

#endif
