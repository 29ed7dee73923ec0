/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers: Slurm (by its commands, and a helper program that answers queries), this machine, or
 * none (dry), behind one interface.
 *
 * A job is identified by its tag. unetctl writes the tag to the study's ledger before it
 * submits the job. After a crash scheduler_query finds the jobs by their tags, so that nothing is
 * submitted twice: each submission has been accepted, refused, or lost, and what is lost is queried
 * before it is submitted again.
 *
 * The data are struct job (job.h), what is asked for, and struct job_state, what a scheduler says
 * of it, whose state is one of the table in scheduler.c, with its phase and what to type next. A
 * study opens its scheduler, submitting makes jobs; status and collecting read
 * states. Slurm and the local queue are rooms of their own, which are called only through struct
 * scheduler_ops. All functions return an error and leave the scheduler usable.
 *
 * Read enum state and struct job_state here, then job.h, scheduler.c and job.c, and for a cluster
 * slurm/scheduler_slurm.c. */
#pragma once

#include "src/base.h"

#include <time.h>

#include "launcher/scheduler/job.h"

/* The states of jobs and runs: those of Slurm, and those that unetctl adds for runs. */
enum state {
    STATE_PENDING, STATE_CONFIGURING, STATE_RUNNING, STATE_SUSPENDED, STATE_COMPLETING,
    STATE_COMPLETED, STATE_FAILED, STATE_TIMEOUT, STATE_CANCELLED, STATE_OUT_OF_MEMORY,
    STATE_NODE_FAIL, STATE_PREEMPTED, STATE_BOOT_FAIL, STATE_DEADLINE, STATE_LAUNCH_FAILED,
    STATE_REQUEUED, STATE_REQUEUE_FED, STATE_REQUEUE_HOLD, STATE_RESIZING, STATE_RESV_DEL_HOLD,
    STATE_REVOKED, STATE_SIGNALING, STATE_SPECIAL_EXIT, STATE_STAGE_OUT, STATE_STOPPED,
    STATE_EXPEDITING,
    STATE_PLANNED, /* not submitted */
    STATE_SKIPPED, /* its allocation ended before its turn */
    STATE_ENDED,   /* its job has ended, but this host may not see its marker yet */
    STATE_UNSEEN,  /* its job is not shown, but not for long (absent.c) */
    STATE_LOST,    /* the scheduler no longer knows its job */
    /* the scheduler is unreachable, hides the job, or gives it a state that is not listed here */
    STATE_UNKNOWN,
    STATE_DAMAGED, /* its plan cannot be read, and it has no active job */
    STATE_COUNT
};

enum job_phase { PHASE_PENDING, PHASE_RUNNING, PHASE_ENDED };

enum run_phase {
    RUN_PLANNED, /* not submitted */
    RUN_ACTIVE,  /* pending or running, or perhaps (ENDED, UNSEEN) */
    RUN_GOOD,    /* the marker DONE */
    RUN_BAD,     /* ended without a result, or damaged */
    RUN_UNKNOWN
};

/* Returns the name that records, helpers and `status` print, such as "PENDING". */
const char *state_name(enum state s);

/* Returns the state with this name, or STATE_UNKNOWN. */
enum state state_find(const char *name);

/* Returns the names of all states, ended by NULL. */
const char *const *state_names(void);

/* Return the phase of a job and of a run in this state. A job of an unknown state counts as
 * running. */
enum job_phase state_job_phase(enum state s);
enum run_phase state_run_phase(enum state s);

/* Writes what the state means and what to type next, or "" if it needs no explanation. */
void state_explain(enum state s, char *dst, size_t size);

#define SCHEDULER_ID_SIZE 32

/* What a scheduler knows of a job. */
struct job_state {
    char id[SCHEDULER_ID_SIZE];
    enum job_phase phase; /* that of state */
    enum state state;
    /* Why it is pending or why it ended, for people; "" if there is no reason, or if the state says
     * all. */
    char reason[384];
    bool held;        /* it waits until it is released */
    int exit_code;    /* of the script, when the phase is PHASE_ENDED */
    int signal;       /* the signal that ended it, or 0 */
    int restarts;     /* how often it was requeued */
    time_t submitted, started, ended; /* 0 if that has not happened */
    /* From Slurm's accounting: energy of its nodes, which it had for itself, and how many seconds
     * were counted; 0: unknown. */
    double joules, joules_s;
    char nodes[128]; /* list in Slurm's notation; "" before the job starts, or if it is local */
    char tag[256];
    char name[128];
    long uid;      /* of the user who submitted it; -1: unknown */
    char user[64]; /* that user's name, or "" */
};

/* Compares two ids, or two job_states by theirs, for qsort. */
int job_id_compare(const void *a, const void *b);

/* Sets the state and its phase. */
void job_state_set(struct job_state *s, enum state state);

/* The resources of a partition; zeros if they are unknown. */
struct scheduler_partition {
    char name[64];
    int nodes;
    int gpus_per_node; /* the largest number of any of its nodes */
    int cpus_per_node; /* the smallest number of any of its nodes */
    int max_time_min;  /* the largest time limit of a job in minutes; 0: not limited */
    /* the types of GPUs of its nodes with commas between, such as "a100,h100"; "": unknown */
#define SCHEDULER_TYPES_SIZE 160
    char gpu_types[SCHEDULER_TYPES_SIZE];
    int away;          /* nodes that are or may be down, drained or not responding */
    /* What Slurm does not show to this user, as a sentence; "" if it shows everything. The sizes of
     * nodes are 0 then, and only Slurm can say whether a job fits. */
    char unknown[200];
};

/* When and where the scheduler would start a job that is not submitted. */
struct scheduler_forecast {
    time_t start;    /* 0: unknown */
    char nodes[128]; /* in Slurm's notation; "" if unknown */
};

struct scheduler_config {
    bool sandbox;            /* slurm: use that of the running sandbox, not the machine's */
    const char *clusters;    /* slurm: the only cluster to submit to; NULL: the one that answers */
    const char *interface;   /* slurm: "library" or "commands"; NULL or "auto": whichever works */
    const char *state_dir;   /* local: the folder of the queue; NULL: the user's state folder */
    int max_in_flight;       /* local: jobs that run at a time; 0 means 1 */
};

struct scheduler;

/* The result of submitting one of several jobs. */
enum scheduler_outcome {
    /* because another job was refused, or its answer was lost */
    SCHEDULER_NOT_TRIED,
    SCHEDULER_SUBMITTED,
    SCHEDULER_REFUSED,   /* no job exists */
    /* no answer arrived: the tag must be queried before the job is submitted again */
    SCHEDULER_LOST
};

struct scheduler_result {
    enum scheduler_outcome outcome;
    char id[SCHEDULER_ID_SIZE]; /* in the scheduler's notation */
    struct err reason;          /* for REFUSED and LOST */
    /* REFUSED because of a limit; the job may be accepted when others have ended */
    bool is_full;
};

struct scheduler_ids {
    const char *const *ids;
    size_t count;
};

/* What scheduler_find has found. The caller frees states. */
struct scheduler_found {
    struct job_state *states;
    size_t count, capacity;
    bool hides;       /* the queue does not show the jobs of other users (PrivateData=jobs) */
    bool is_answered; /* the cluster has an accounting that answers */
};

/* What the jobs of an account took since a date, of those that Slurm shows this user. */
struct scheduler_usage {
    size_t jobs, completed;
    double gpu_hours, recent_gpu_hours; /* recent: of the last SCHEDULER_RECENT_DAYS */
};
#define SCHEDULER_RECENT_DAYS 30

/* All but name and submit may be NULL: nothing is found or refused then. */
struct scheduler_ops {
    const char *name;
    int (*partition)(struct scheduler *s, const char *name, struct scheduler_partition *p,
                     struct err *e);
    int (*check)(struct scheduler *s, const struct job *job, struct scheduler_forecast *forecast,
                 struct err *e);
    void (*submit)(struct scheduler *s, const struct job *jobs, size_t count,
                   struct scheduler_result *results);
    int (*query)(struct scheduler *s, const char *tag_prefix, bool everybody,
                 struct job_state **states, size_t *nstates, struct err *e);
    int (*find)(struct scheduler *s, const struct scheduler_ids *ids, bool in_accounting,
                struct scheduler_found *dst, struct err *e);
    int (*cancel)(struct scheduler *s, const struct scheduler_ids *ids, struct err *e);
    int (*release)(struct scheduler *s, const char *id, struct err *e);
    int (*usage)(struct scheduler *s, const char *account, time_t since,
                 struct scheduler_usage *dst, struct err *e);
    void (*close)(struct scheduler *s);
};

struct scheduler {
    const struct scheduler_ops *ops;
    void *priv;
};

/* Open a scheduler of each kind. Strings of config must live until it is closed. NULL with an
 * error that says what to type next: ERR_SCHED if this machine has no such scheduler. Whether
 * Slurm can be reached shows only at the first query. */
struct scheduler *scheduler_slurm_open(const struct scheduler_config *config, struct err *e);
struct scheduler *scheduler_local_open(const struct scheduler_config *config, struct err *e);
struct scheduler *scheduler_dry_open(const struct scheduler_config *config, struct err *e);
void scheduler_close(struct scheduler *s);

/* Looks up the partition of this name, or for NULL the default one. For several names, separated
 * by commas, each value is the largest that one of these partitions has. Returns 0, or -1 with
 * ERR_SCHED if any of them does not exist. Without Slurm, or if Slurm does not show its partitions
 * to this user, any name is accepted. */
int scheduler_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                        struct err *e);

/* Checks whether this job could ever run. Returns 0, or -1 with ERR_SCHED and the reason: more
 * nodes or GPUs than the partition has, a time limit above its own, an unknown account, and so
 * on. The local queue checks only the script and the dependency, and a dry scheduler nothing.
 * Submits nothing. */
int scheduler_check(struct scheduler *s, const struct job *job, struct err *e);

/* Makes the same check, and finds when and where the job would start if it were submitted now.
 * job->script may be NULL. */
int scheduler_forecast(struct scheduler *s, const struct job *job, struct scheduler_forecast *dst,
                       struct err *e);

/* Submits one job. On -1 no job exists, unless e->code is ERR_INTERNAL: then the answer was
 * lost. */
int scheduler_submit(struct scheduler *s, const struct job *job, char id[SCHEDULER_ID_SIZE],
                     struct err *e);

/* Submits several jobs, in their order. After a refusal or a lost answer no further job is
 * submitted. */
void scheduler_submit_all(struct scheduler *s, const struct job *jobs, size_t count,
                          struct scheduler_result *results);

/* Sets *states to all jobs of this user, or of everybody, whose tag starts with tag_prefix, sorted
 * by id. The caller frees *states, which is NULL if there are none. Returns 0, or -1. Slurm forgets
 * ended jobs after a while (MinJobAge), and a job whose comment was changed has no tag, so a
 * missing job has not necessarily ended; scheduler_find asks for it. */
int scheduler_query(struct scheduler *s, const char *tag_prefix, bool everybody,
                    struct job_state **states, size_t *nstates, struct err *e);

/* Finds the jobs that have these ids, with any owner and any tag, in the queue or in Slurm's
 * accounting, which remembers ended jobs. There a job that was requeued, or whose number was used
 * again, has several elements, the last one last; they have no tags. Other schedulers than Slurm
 * find nothing. Returns 0, or -1 and nothing to free. */
int scheduler_find(struct scheduler *s, const struct scheduler_ids *ids, bool in_accounting,
                   struct scheduler_found *dst, struct err *e);

/* Adds up what an account has used, by Slurm's accounting. Returns 0, or -1 with ERR_SCHED: there
 * is none. */
int scheduler_account_usage(struct scheduler *s, const char *account, time_t since,
                            struct scheduler_usage *dst, struct err *e);

/* Cancels a job. It is not an error if the job has ended or is unknown. */
int scheduler_cancel(struct scheduler *s, const char *id, struct err *e);

/* Cancels several with one request. Returns 0, or -1 if one cannot be cancelled; then others may
 * be. */
int scheduler_cancel_all(struct scheduler *s, const struct scheduler_ids *ids, struct err *e);

/* Releases a held job. Returns 0, or -1 with ERR_SCHED: Slurm does not allow it, or the scheduler
 * holds no jobs. */
int scheduler_release(struct scheduler *s, const char *id, struct err *e);
