/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm: jobs are submitted, tested, cancelled and released by its commands; a helper program
 * answers queries.
 *
 *   scheduler_slurm.c (scheduler_ops) -> sbatch, scancel, scontrol
 *                                     -> helper.c ==pipe==> serve.c -> unetctl-slurm.c, by libslurm
 *                                                                      or unetctl-slurm-commands.c
 *
 * The pipe has one JSON object per line (PROTOCOL.md). It is there because libslurm ends its
 * process on many errors, is under the GPL, and changes with each release. serve.h is the interface
 * of the two programs, this header what all files of the room share.
 *
 * Nothing is called from outside: scheduler_slurm_open (scheduler.h) returns struct scheduler. A
 * refusal is a number (enum cause), with what a user can do about it; whether a job may exist after
 * sbatch failed is never guessed: then its answer is lost, and its tag is queried.
 *
 * Read scheduler_slurm.c from scheduler_slurm_open on, then cause.c (refusals, reasons, limits),
 * command.c (how commands run, and messages of the protocol), helper.c and serve.c. */
#pragma once

#include "src/base.h"

#include <jansson.h>

#include "launcher/host/child.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/scheduler/job.h"
#include "launcher/scheduler/scheduler.h"

/* Why Slurm refuses a request or an action, as a number: also the member "code" of refusals, so the
 * numbers belong to the protocol. */
enum cause {
    CAUSE_OTHER = 0,
    CAUSE_LOST = 1,         /* it is unknown whether a job was submitted */
    CAUSE_INCOMPATIBLE = 2, /* the cluster's release does not understand this program */
    CAUSE_DENIED = 3,       /* Slurm hides this from the user (PrivateData) */
    CAUSE_NO_JOB = 4,       /* the job has ended or is unknown */
    CAUSE_LATER = 5,        /* a job that would have to wait for its turn */
    CAUSE_FULL = 6,         /* a limit of jobs; it may be submitted when others have ended */
    CAUSE_LIMIT = 7,        /* another limit of accounting */
    CAUSE_ACCOUNT = 8,      /* an account or QOS that the user may not use */
    CAUSE_NODES = 9,        /* no nodes have what is asked for */
    CAUSE_GRES = 10,
    CAUSE_FEATURE = 11,
    CAUSE_DOWN = 12, /* no controller could be reached, so nothing was executed */
    CAUSE_NO_CLUSTER = 13, /* Slurm is not configured on this host */
    CAUSE_COUNT
};

/* Returns the cause in a text of Slurm's commands, or otherwise if it has none of the answers of
 * slurmctld that are known. They are those of slurm_strerror in Slurm 22.05 to 26.05. */
enum cause cause_find(const char *text, enum cause otherwise);

/* Returns why sbatch failed that wrote this on stderr and no job id: CAUSE_LOST unless it failed
 * before it submitted the job, or each of its attempts has a known answer. */
enum cause cause_of_sbatch(const char *said);

/* Returns what a user can do about it, or "". */
const char *cause_advice(enum cause cause);

/* Returns whether a job that is refused for this cause in a check would only wait if it were
 * submitted. away is the number of nodes of its partition that are down, drained or do not
 * respond. */
bool cause_passes(enum cause cause, int away);

/* What a pending job with a reason does: it waits, or until it is released, or never starts. */
enum slurm_words { WORDS_WAITS, WORDS_HELD, WORDS_NEVER };

/* Finds one of Slurm's reasons of jobs, as squeue prints them, such as "ReqNodeNotAvail,
 * UnavailableNodes:node1". Sets *text to what it means and what to type, or "" if it is unknown,
 * which is WORDS_WAITS. */
enum slurm_words slurm_words_find(const char *reason, const char **text);

/* Adds to e, the refusal of a job with these options, what sacctmgr and scontrol know about a limit
 * (which it was and whose), an account or a QOS (which ones the user may choose), or cause_advice.
 * said is what sbatch printed: one of its lines is the name of a limit. Returns the cause, which
 * becomes CAUSE_FULL if the job may be submitted again when others have ended. */
enum cause limits_explain(const struct sandbox *sandbox, const struct job_options *o,
                          enum cause cause, const char *said, struct err *e);

/* Runs one of Slurm's commands, without a shell and without the variables of another job
 * or the user's options for these commands, and says why it failed. Queries print times as seconds
 * since 1970. */

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

/* Copies the value of NAME=VALUE among the words of a line, or "". Returns dst. */
char *command_value(const char *line, const char *name, char *dst, size_t size);

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

/* Members of queries to the helper, and refusals in its answers (PROTOCOL.md). */

/* The number of the protocol, which helpers answer to "hello". It changes with a release whose
 * helper and an earlier unetctl, or the reverse, would misunderstand each other. */
#define MESSAGE_PROTOCOL 3

/* Return an answer that refuses with this reason, for CAUSE_OTHER or another cause. */
#define message_refuse(...) message_refuse_for(CAUSE_OTHER, __VA_ARGS__)
#define message_refuse_for(cause, ...) json_pack("{s:b, s:i, s:o}", "ok", 0, "code", (int)(cause), \
                                                 "error", json_sprintf(__VA_ARGS__))

/* Returns the cause of a refusal; of another answer CAUSE_OTHER. */
enum cause message_cause(const json_t *answer);

/* Adds the words of a list, between commas, that text lacks, and that fit. */
void message_add_words(char *text, size_t size, const char *list);

/* Returns an object that has the strings of the list as keys. */
json_t *message_index_ids(const json_t *ids);

/* Appends the strings of the list, joined by commas. */
void message_add_ids(struct buf *dst, const json_t *ids);

/* Returns a text as JSON; "" for NULL and for text that is not UTF-8. */
json_t *message_string(const char *text);

/* The client of a helper program that queries Slurm, in a conversation of JSON lines
 * (launcher/scheduler/slurm/PROTOCOL.md). */

struct helper;

/* Creates the client of a helper program. sandbox is copied; NULL means this machine's Slurm.
 * interface is "library" (unetctl-slurm), "commands" (unetctl-slurm-commands), or NULL or
 * "auto": the library, or the commands if the library's program is missing, cannot start or does
 * not fit the cluster's release. The program starts with the first request, and if it has ended,
 * again with the next. NULL with ERR_SCHED if the program is not installed, or with ERR_INTERNAL
 * if memory ran out. */
struct helper *helper_create(const struct sandbox *sandbox, const char *interface, struct err *e);
void helper_destroy(struct helper *h);

/* Sends a request, which is released, and waits for its answer, which the caller releases. NULL
 * with ERR_SCHED if the helper refused or could not be started, so that nothing was done; NULL
 * with ERR_CONFIG if the request is NULL or not UTF-8; NULL with ERR_INTERNAL if the request was
 * sent but its answer was lost. */
json_t *helper_ask(struct helper *h, json_t *request, struct err *e);
