/* SPDX-License-Identifier: BSD-3-Clause */
/* A study opened for work: its plan, the ledger of its submissions and the schedulers of its jobs,
 * and the options that several verbs share. */
#pragma once

#include "src/base.h"
#include <time.h>

#include "launcher/scheduler/scheduler.h"
#include "launcher/study/plan.h"
#include "src/cli.h"
#include "src/clock.h"
#include "src/settings/settings.h"

/* STUDY/.unetctl: the record of submissions, and its lock.
 *
 * ledger.jsonl has one fsynced line per event and is only appended to. Opening it replays the
 * events. After a "submitting" without a later event, only the job's tag shows whether the job
 * exists. Lines that a crash or a full disk left incomplete are skipped; that loses nothing,
 * because no job is submitted before its "submitting" is complete. */
#define LEDGER_STUDY_ID_SIZE 17

enum ledger_event { LEDGER_SUBMITTING, LEDGER_SUBMITTED, LEDGER_CANCELLED, LEDGER_LOST,
                    LEDGER_REFUSED };

/* The state of one attempt after its events. */
struct ledger_entry {
    char run[RUN_ID_SIZE];
    int attempt;
    enum ledger_event last;
    char scheduler[16];
    char job[SCHEDULER_ID_SIZE]; /* the scheduler's id; "" while unknown */
    time_t time;   /* of the last event; 0: unknown */
    time_t asked;  /* of the last "submitting", or else of "submitted" */
    long uid;      /* who submitted it; -1 in ledgers that do not say so */
    char user[64]; /* the name of this user, or "" */
};

struct ledger {
    char *dir; /* STUDY/.unetctl */
    char study_id[LEDGER_STUDY_ID_SIZE]; /* 16 hex digits, or "" before the first ledger_lock */
    bool is_new; /* no file has the id yet, so no event and no job has it */
    struct ledger_entry *entries;        /* in the order of their first event */
    size_t count, capacity;
    long owner; /* who owns the file of the events; -1: there is none */
    /* from "RUN:ATTEMPT" to its entry, and from "RUN" to that of its newest attempt */
    struct map index;
    int lock_fd;
};

/* Reads the ledger of a study; l is empty if the study has none. Writes nothing. Returns 0, or -1:
 * with ERR_CONFIG for an unknown schema or event. Then there is nothing to close. */
int ledger_open(struct ledger *l, const char *study_dir, struct err *e);
void ledger_close(struct ledger *l); /* also unlocks */

/* Reads the files again, for what other processes have appended. Returns 0, or -1; then l may lack
 * events, but must still be closed. */
int ledger_reload(struct ledger *l, struct err *e);

/* Makes this process the only writer, and reloads. Waits at most timeout_s for another writer.
 * Creates the folder if necessary, and chooses the study's id (see ledger_keep_id).
 *
 * The lock is an open file description lock on STUDY/.unetctl/lock, which works on NFS. Programs
 * that are started meanwhile share it: if unetctl is killed, sbatch keeps others out while it still
 * submits.
 *
 * Returns 0, or -1 with ERR_TIMEOUT that names host and pid of the holder, or ERR_CONFIG if the
 * study is a copy of an existing one. */
#define LEDGER_LOCK_S 60 /* the timeout of verbs */
int ledger_lock(struct ledger *l, int timeout_s, struct err *e);
void ledger_unlock(struct ledger *l);

/* Writes the study's id to its file if it is new. ledger_append also calls this. Requires the
 * lock. */
int ledger_keep_id(struct ledger *l, struct err *e);

/* Appends an event, fsyncs, and updates the entry. With job NULL the entry keeps its job. This
 * user becomes the submitter by "submitting" and "submitted". Requires the lock. */
int ledger_append(struct ledger *l, enum ledger_event event, const char *run, int attempt,
                  const char *scheduler, const char *job, struct err *e);

/* Does the same for several attempts, with one fsync. */
struct ledger_note {
    const char *run, *job;
    int attempt;
    const char *reason; /* why it is submitted, for readers of the file; NULL: the user asked */
};
int ledger_append_all(struct ledger *l, enum ledger_event event, const struct ledger_note *notes,
                      size_t count, const char *scheduler, struct err *e);

/* Returns the entry of an attempt of run, for attempt 0 that of the newest one, or NULL. It is
 * valid until the ledger is next changed or read again. */
const struct ledger_entry *ledger_find(const struct ledger *l, const char *run, int attempt);

/* Returns whether another user may have submitted jobs of this study. */
bool ledger_has_others(const struct ledger *l);

/* Returns whether this user (-1: unknown) may have submitted jobs of this study. */
bool ledger_may_be_of(const struct ledger *l, long uid);

/* Writes "unetctl:STUDY_ID:RUN:ATTEMPT", or with run NULL the prefix of all tags of the study. */
void ledger_tag(const char *study_id, const char *run, int attempt, char dst[256]);

/* Reads STUDY/runs/RUN: the attempts, their markers (the files DONE and FAILED, which a job writes
 * at its end), and the progress of the training. */
enum run_marker { RUN_NO_MARKER, RUN_DONE, RUN_FAILED };

/* The newest attempt of a run. */
struct run_attempt {
    int number; /* from 1; 0 if the run has no attempt */
    bool begun;    /* its folder has files: a job wrote them, or unetctl an own run.json */
    bool ran;      /* a job wrote files into its folder */
    bool stopped;  /* the file "stopped" exists: a signal, or the trainer itself (exit code 75),
                    * ended the job so that it can be resumed */
    bool recorded; /* record.jsonl exists */
    char job[64]; /* id of the job that began last, or "" before it began */
    enum run_marker marker;
    double marker_age_s; /* seconds since the marker was written */
    int exit_code;    /* of FAILED; otherwise 0 */
    /* of FAILED; of DONE why its log could not be read when it ended; otherwise "" */
    char error[512];
    char path[PATH_MAX]; /* its folder; "" if the run has no attempt */
};

/* Progress according to record.jsonl. */
struct run_progress {
    int epochs;     /* planned; 0 if nothing was recorded yet */
    int epoch;      /* completed epochs */
    int step, steps; /* in the current epoch; 0 before its first progress line */
    double loss, epoch_s; /* of the last completed epoch; 0 before */
    const char *metric; /* "IoU", or "accuracy" where images have classes */
    double quality, training_s; /* until the training has ended, quality is -1 and training_s 0 */
};

/* Lists the ids of all runs that have a run.json, or have lost it after they began, in the
 * order of strverscmp. Returns 0, or -1 and nothing to clear. */
int run_dir_list(const char *study_dir, struct setting_lines *ids, struct err *e);
void run_dir_list_sort(struct setting_lines *ids);

/* Returns 0 if the study has this run, or -1 with ERR_USAGE that names the nearest id. */
int run_dir_check_id(const char *study_dir, const char *run, struct err *e);

/* Reads a run's plan from run.json. If text is not NULL, *text gets the file's text, which the
 * caller frees. Returns 0, or -1: with ERR_CONFIG if the file is broken or another run's, with
 * ERR_DATA if it cannot be read. */
int run_dir_read(const char *study_dir, const char *run, struct run *dst, char **text,
                 struct err *e);

/* Sets *dst to the layout in the attempt's own run.json (attempt-K/run.json), which only some
 * resumed attempts have. Returns 1, 0 if there is none, so that the planned layout applies, or
 * -1. */
int run_dir_layout(const char *study_dir, const char *run, int attempt, struct layout *dst,
                   struct err *e);

/* Returns the newest of the attempts 1..newest that has a checkpoint, or 0 if none has. */
int run_dir_checkpoint(const char *study_dir, const char *run, int newest);

/* Reads the newest attempt of a run. Returns 0, also if there is none, or -1 with ERR_CONFIG if a
 * path is too long. */
int run_dir_attempt(const char *study_dir, const char *run, struct run_attempt *dst, struct err *e);

/* Appends the starts of an attempt's job, as submit_file.sh has written them. The last one ended
 * with the marker DONE if it has not said when; an unknown end is NaN. Returns 0, or -1 if memory
 * ran out. */
int run_dir_starts(const char *attempt_dir, struct clock_span **dst, size_t *n, size_t *capacity,
                   struct err *e);

/* Returns whether a run of an engine other than the embedded one ended without a trace: the newest
 * attempt is FAILED, or DONE without a log that could be read, and none has a record, log.csv or a
 * checkpoint. Then it may begin anew with other settings. */
bool run_dir_never_trained(const char *study_dir, const char *run);

/* Fills dst with what can be read of the attempt's record.jsonl, which may be missing or
 * incomplete. */
void run_dir_progress(const struct run_attempt *attempt, struct run_progress *dst);

#define RUN_OUTPUT_MAX ((size_t)4 << 30) /* bytes of an output that is read */

/* Finds the output of the attempt's job or, if the job is unknown or has none, the newest *.out in
 * the attempt's folder. Returns 0, or -1 with ERR_DATA if there is none. */
int run_dir_output(const struct run_attempt *attempt, char dst[PATH_MAX], struct err *e);

/* ---- a study opened for work ---- */

/* Rows of an option table over a static struct plan_args. */
#define WORKSPACE_OPTION_STUDY(args)                                                       \
    {"study", 'C', CLI_STRING, "STUDY",                                                    \
     "use the study in this folder (default: the current one or the nearest above)",       \
     &(args).dir, 0, 0}
#define WORKSPACE_OPTION_SCHEDULER(args)                                                   \
    {"scheduler", 0, CLI_STRING, "KIND",                                                   \
     "submit to slurm, local or dry (default: the site's scheduler)",                      \
     &(args).scheduler, 0, 0}
#define WORKSPACE_OPTION_SITE(args)                                                        \
    {"site", 0, CLI_STRING | CLI_TYPED, "SITE",                                            \
     "use this site profile (default: the study's; see 'unetctl site list')",              \
     &(args).site, 0, 0}
#define WORKSPACE_OPTION_SET(args)                                                         \
    {"set", 's', CLI_LIST, "KEY=VALUE",                                                    \
     "override a key of study.yaml, such as slurm.time=30:00; may be repeated",            \
     &(args).set, 0, 0}
#define WORKSPACE_OPTIONS_PLAN(args)                                                       \
    {"gpus", 'g', CLI_STRING | CLI_TYPED, "LIST",                                          \
     "run on these numbers of GPUs, such as 1..14 or 1,2,4 (default: the study's)",        \
     &(args).gpus, 0, 0},                                                                  \
    {"seeds", 0, CLI_INT | CLI_TYPED, "N",                                                 \
     "run each number of GPUs with the seeds 1 to N (default: the study's)",               \
     &(args).seeds, 1, 1000},                                                              \
    {"engine", 0, CLI_STRING | CLI_TYPED, "NAME",                                          \
     "train with this engine, such as pytorch or command (default: the study's)",          \
     &(args).engine, 0, 0},                                                                \
    {"model", 0, CLI_STRING, "NAME",                                                       \
     "train this network, such as unet or resnet44 (default: the study's)",                \
     &(args).model, 0, 0},                                                                 \
    WORKSPACE_OPTION_SET(args),                                                            \
    WORKSPACE_OPTION_SITE(args)

/* For verbs that plan, write or submit runs. */
#define WORKSPACE_OPTION_VARY(args)                                                        \
    {"vary", 0, CLI_LIST, "KEY=VALUE,VALUE",                                               \
     "run each with these values of a key of study.yaml; may be repeated", &(args).vary, 0, 0}

/* For verbs that write job scripts. */
#define WORKSPACE_OPTION_TEMPLATES(args)                                                   \
    {"templates", 0, CLI_STRING, "PATH",                                                   \
     "use job templates from this folder or submit_file.sh (default: the study's)",        \
     &(args).templates, 0, 0}

/* For verbs that submit, and for plan. */
#define WORKSPACE_OPTION_ONE_ALLOCATION(args)                                              \
    {"one-allocation", 0, CLI_FLAG, NULL,                                                  \
     "run everything as steps of one Slurm job, side by side where it fits",               \
     &(args).one_allocation, 0, 0}

/* For verbs that submit. */
#define WORKSPACE_OPTION_MAX_IN_FLIGHT(args)                                               \
    {"max-in-flight", 0, CLI_INT, "K",                                                     \
     "let at most K jobs of the study run at a time (default: no limit, or site)",         \
     &(args).max_in_flight, 1, 4096}
#define WORKSPACE_OPTION_AFTER(args)                                                       \
    {"after", 0, CLI_LIST, "WHAT",                                                         \
     "start when this has ended: a job number, a RUN, or another STUDY", &(args).after, 0, 0}

/* For verbs that submit or cancel. */
#define WORKSPACE_OPTION_TAKE_OVER(args)                                                   \
    {"take-over", 0, CLI_FLAG, NULL,                                                       \
     "act on runs of other users, too, and become their submitter", &(args).take_over, 0, 0}

enum { WORKSPACE_SLURM, WORKSPACE_LOCAL, WORKSPACE_DRY, WORKSPACE_SANDBOX, WORKSPACE_NKINDS };

struct workspace {
    struct plan plan; /* without runs */
    struct ledger ledger;
    bool take_over; /* runs that other users submitted are not left to them */
    char *excluded; /* plan.options.exclude with bad nodes (submission.h), or NULL */
    /* Asked under the ledger's lock before anything is submitted: false if that is no longer
     * wanted. NULL: it is. */
    bool (*is_wanted)(const struct workspace *w, void *arg);
    void *is_wanted_arg;
    struct scheduler *open[WORKSPACE_NKINDS];
};

/* Opens the study of args, which must outlive w, as plan_open. w must not be moved. Returns 0, or
 * -1; then there is nothing to close. */
int workspace_open(struct workspace *w, const struct plan_args *args, struct err *e);

/* Does the same, with the variants, for verbs that describe jobs. words are those after "--":
 * options of sbatch. They must outlive w. */
int workspace_open_jobs(struct workspace *w, const struct plan_args *args, int nwords,
                        char **words, struct err *e);

/* Plans the runs of the study's GPU counts and seeds, after plan_check_shipped and
 * workspace_check_effect for each variant. Returns 0, or -1 as plan_compute. */
int workspace_plan(const struct workspace *w, struct plan *dst, struct err *e);

/* Finds settings that the user wrote in study.yaml, the environment or the command line and that
 * can have no effect in any run of a study with the embedded engine. gpus: the list of GPU counts
 * of the runs, or NULL if it is not known yet; l may be NULL. Returns 0, or -1 with ERR_CONFIG that
 * names the first one. In a study that has begun, all are warnings. A log.pattern from which
 * nothing can be read is refused in any case. */
int workspace_check_effect(const struct study *s, const struct ledger *l, const char *gpus,
                           struct err *e);

void workspace_close(struct workspace *w);

/* Returns the kind that new jobs go to, as the ledger has it: "sandbox" is the Slurm of `unetctl
 * sandbox`, which may be beside one of this machine. */
const char *workspace_kind(const struct workspace *w);
bool workspace_is_slurm(const char *kind);

/* Returns the scheduler of this kind, or NULL. It is opened at first use and closed by
 * workspace_close. */
struct scheduler *workspace_scheduler(struct workspace *w, const char *kind, struct err *e);
