/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one of Slurm's commands, without a shell and without the variables of another job
 * or the user's options for these commands. Times are printed as seconds since 1970. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "src/buf.h"

struct command {
    struct buf out, err; /* its stdout and stderr */
    int code;            /* its exit code, or 128 + the signal that ended it */
};

/* Runs argv (NULL-terminated) to its end. Returns NULL, or a refusal if the command cannot be
 * started or memory ran out. command_destroy must be called in either case. Thread-safe. */
json_t *command_run(const char *const argv[], struct command *dst);
void command_destroy(struct command *c);

/* Likewise, but a command that fails is a refusal, too. */
json_t *command_ask(const char *const argv[], struct command *dst);

/* Copies the value of a setting in the output of `scontrol show config`, or "". Returns dst. */
const char *command_setting(const char *config, const char *name, char *dst, size_t size);

/* Returns the last line of text that is not empty, without a leading "sbatch: error: ". A hint at
 * the end (Try "sbatch --help" ...) is left out. Changes text; the result points into it. */
char *command_last_line(char *text);

/* Returns the refusal of a command that failed, with the reason that it printed, or else its exit
 * code, and with the cause of that text; CAUSE_LOST if a signal ended it. Changes c->out and
 * c->err. */
json_t *command_refuse(const char *name, struct command *c);

/* Splits the next line of *text at '|' into count fields without surrounding blanks; the last
 * field has the rest of the line. Missing fields are "". Returns false at the end of the text. */
#define COMMAND_FIELDS_MAX 14
bool command_fields(char **text, char *fields[COMMAND_FIELDS_MAX], int count);

/* Returns seconds since 1970, or 0 for "N/A", "NONE" and "Unknown". */
json_int_t command_seconds(const char *text);

/* Decodes an exit code. squeue prints a wait status up to 22.05 and CODE:SIGNAL since then;
 * sacct prints the latter. */
void command_exit(const char *text, int *code, int *signal);

#endif
