/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one of Slurm's commands, without a shell and without the variables of another job
 * or the user's options for these commands, and says why it failed. Queries print times as seconds
 * since 1970. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "launcher/host/child.h"
#include "launcher/scheduler/slurm/cause.h"

struct sandbox;

/* Of struct child: replaces the child by argv in this sandbox. */
void command_enter(void *sandbox, char *const argv[]);

/* Runs child->argv to its end, in the sandbox or, for NULL, with this machine's Slurm. Its streams
 * are read. child->environment may be NULL: this process's without what is said above. Returns 0,
 * or -1 with ERR_SCHED if the command cannot be started. child_destroy must be called in either
 * case. Thread-safe. */
int command_run(const struct sandbox *sandbox, const struct child *child, struct child_end *dst,
                  struct err *e);

/* Does so for argv (NULL-terminated). A command that fails is an error, too. */
int command_query(const struct sandbox *sandbox, const char *const argv[], struct child_end *dst,
                struct err *e);

/* Runs argv here. Returns NULL, or the refusal of a command that failed or cannot be started. */
json_t *command_ask(const char *const argv[], struct child_end *dst);

/* Copies the value of a setting in the output of `scontrol show config`, or "". Returns dst. */
const char *command_setting(const char *config, const char *name, char *dst, size_t size);

/* Returns the next line of *text without "NAME: " and "error: " before it, as Slurm's commands
 * label what they print, and sets *text behind it and *length. Lines that are empty are skipped.
 * Returns NULL at the end. */
const char *command_line(const char **text, const char *name, size_t *length);

/* Sets e to ERR_SCHED and each line that a command printed on stderr, or else on stdout, without
 * labels and separated by "; "; if it printed nothing to its exit code. Returns -1. */
int command_explain(const char *name, const struct child_end *end, struct err *e);

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
