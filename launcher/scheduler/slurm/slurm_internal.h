/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm: jobs are submitted, tested, cancelled and released by its commands, which also answer
 * queries, or libslurm does.
 *
 *   scheduler_slurm.c (scheduler_ops) -> sbatch, scancel, scontrol
 *                                     -> query.c -> scontrol, sinfo, squeue, sacct
 *                                                or unetctl-slurm, by libslurm (PROTOCOL.md)
 *
 * unetctl-slurm is a program of its own because libslurm ends its process on many errors, is under
 * the GPL, and changes with each release.
 *
 * Nothing is called from outside: scheduler_slurm_open (scheduler.h) returns struct scheduler. A
 * refusal is a number (enum cause), with what a user can do about it; whether a job may exist after
 * sbatch failed is never guessed: then its answer is lost, and its tag is queried.
 *
 * Read scheduler_slurm.c from scheduler_slurm_open on, then cause.c (refusals, reasons, limits),
 * command.c (how commands run) and query.c. */
#pragma once

#include "src/base.h"

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

/* Makes e, the text of a refusal, "Slurm: TEXT; ADVICE" with ERR_SCHED. Returns -1. */
int cause_refuse(enum cause cause, struct err *e);

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
 * since 1970, but in a sandbox. */

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

/* Decodes a time of a query, or one of another text of Slurm's, which is local time. Returns 0 for
 * "N/A", "NONE" and "Unknown". */
time_t command_time(const char *text);

/* Decodes an exit code. squeue prints a wait status up to 22.05 and CODE:SIGNAL since then;
 * sacct prints the latter. */
void command_exit(const char *text, int *code, int *signal);

/* What the cluster has. Slurm may withhold partitions from a user. */
struct cluster {
    struct cluster_partition {
        struct scheduler_partition known;
        bool is_default;
        int total; /* all its nodes; Slurm may not show some: PrivateData=nodes, or powered-down
                    * nodes of a cloud */
    } * partitions;
    size_t count, capacity;
    bool is_private; /* Slurm does not show its partitions to this user */
};

/* Adds the types of a list, between commas, that are not in types, and that fit. */
void cluster_add_types(char types[SCHEDULER_TYPES_SIZE], const char *list);

/* What is needed of slurm.conf. */
struct slurm_config {
    char cluster[256];
    bool hides_jobs;        /* users are shown only their own (PrivateData=jobs) */
    bool has_slurmdbd;
    char jobcomp[PATH_MAX]; /* the file of jobcomp/filetxt, or "" */
};

/* Which jobs: those with these numbers, of any user, or those whose tag begins with prefix, of this
 * user or of everybody. */
struct jobs_query {
    const struct scheduler_ids *ids; /* NULL: by prefix */
    const char *prefix;
    bool everybody;
};

/* Where and how Slurm is asked. */
struct query_way {
    const struct sandbox *place; /* NULL: this machine's Slurm */
    char library[PATH_MAX];      /* the program of libslurm; "": Slurm's commands are run */
    bool may_change; /* to Slurm's commands, where that cannot start or does not fit */
    char why[ERR_TEXT_SIZE]; /* they are run, to be logged at their first answer; or "" */
};

/* The first word of the program of libslurm, which it compares with its own. It changes with a
 * release whose program and an earlier unetctl, or the reverse, would misunderstand each other. */
#define QUERY_PROTOCOL "4"

/* Finds the program of libslurm. interface: "library", "commands", or NULL or "auto": the library,
 * or the commands if its program is missing, cannot start or does not fit the cluster's release.
 * place must outlive way. Returns 0, or -1 with ERR_SCHED if the program is not installed. */
int query_open(struct query_way *way, const struct sandbox *place, const char *interface,
               struct err *e);

/* Each returns 0, or -1 with ERR_SCHED. query_cluster fills dst, which is empty; query_jobs appends
 * to dst. */
int query_config(const struct query_way *way, struct slurm_config *dst, struct err *e);
int query_cluster(struct query_way *way, struct cluster *dst, struct err *e);
int query_jobs(struct query_way *way, const struct jobs_query *q, struct scheduler_found *dst,
               struct err *e);

/* Appends what the accounting, or a readable JobCompLoc, knows of jobs with these numbers; sets
 * dst->is_answered. A job that had all CPUs of its nodes has its energy, if that was counted. */
void query_past(const struct query_way *way, const struct slurm_config *config,
                const struct scheduler_ids *ids, struct scheduler_found *dst);
