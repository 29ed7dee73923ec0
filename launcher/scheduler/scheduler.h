/* SPDX-License-Identifier: BSD-3-Clause */
/* Where jobs run: Slurm (through the helper unetctl-slurm), this machine, or nowhere (dry).
 *
 * One vtable; the verbs never ask which one it is. A job's identity is its tag: after a crash the
 * ledger is matched with scheduler_query by tag, so nothing is submitted twice. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SCHEDULER_H
#define UNETCTL_LAUNCHER_SCHEDULER_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "launcher/scheduler/job.h"
#include "src/err.h"

#define SCHEDULER_ID_SIZE 32

enum job_phase { JOB_PENDING, JOB_RUNNING, JOB_ENDED };

struct job_state {
    char id[SCHEDULER_ID_SIZE];
    enum job_phase phase;
    char state[24];   /* Slurm's name: PENDING RUNNING COMPLETED FAILED TIMEOUT CANCELLED ... */
    char reason[128]; /* why it waits or ended, as Slurm says it; "" for none */
    int exit_code;    /* of the script, once ENDED */
    int signal;       /* that ended it, or 0 */
    int restarts;     /* times requeued */
    time_t submitted, started, ended; /* 0: not yet */
    char nodes[128];                  /* node list in Slurm's notation, "" before it starts */
    char tag[256];
    char name[128];
};

/* What a partition of the cluster can give; zeros where the scheduler can't tell. */
struct scheduler_partition {
    char name[64];
    int nodes;
    int gpus_per_node; /* the most that any of its nodes has */
    int cpus_per_node; /* the least */
    int max_time_min;  /* 0: no limit */
};

/* What the scheduler expects of a job that was not submitted. */
struct scheduler_forecast {
    time_t start;    /* 0: it cannot tell */
    char nodes[128]; /* in Slurm's notation; "" likewise */
};

struct scheduler_config {
    bool sandbox;            /* slurm: talk to the sandbox's Slurm, not to the machine's */
    const char *sandbox_dir; /* its folder; NULL: the one that runs (see sandbox_find) */
    const char *interface;   /* slurm: "library", "commands", or NULL or "auto" for either */
    const char *state_dir;   /* local: where the queue is kept; NULL: the user's state folder */
    int max_in_flight;       /* local: jobs that run at once; 0 means 1 */
};

struct scheduler;

/* What became of one job of a submission. */
enum scheduler_outcome {
    SCHEDULER_NOT_TRIED, /* another one was refused before */
    SCHEDULER_SUBMITTED,
    SCHEDULER_REFUSED,   /* no job exists */
    SCHEDULER_LOST       /* the answer is lost: the tag must be queried before another try */
};

struct scheduler_result {
    enum scheduler_outcome outcome;
    char id[SCHEDULER_ID_SIZE]; /* as the scheduler prints it */
    struct err reason;          /* of REFUSED and LOST */
    bool is_full;               /* REFUSED by a limit that ended jobs make room in */
};

/* Gets ready what job i of a submission needs (its script), one after the other. */
struct scheduler_feed {
    int (*ready)(void *arg, size_t i, struct err *e);
    void *arg;
};

struct scheduler_ops {
    const char *name;
    int (*partition)(struct scheduler *s, const char *name, struct scheduler_partition *p,
                     struct err *e);
    int (*check)(struct scheduler *s, const struct job *job, struct scheduler_forecast *forecast,
                 struct err *e);
    void (*submit)(struct scheduler *s, const struct job *jobs, size_t count, const char *in_flight,
                   const struct scheduler_feed *feed, struct scheduler_result *results);
    int (*query)(struct scheduler *s, const char *tag_prefix, struct job_state **states,
                 size_t *nstates, struct err *e);
    int (*cancel)(struct scheduler *s, const char *id, struct err *e);
    void (*close)(struct scheduler *s);
    /* optional */
    int (*recall)(struct scheduler *s, struct job_state *states, size_t count, const char **source,
                  struct err *e);
    void (*announce)(struct scheduler *s, const char *tag_prefix, const struct job *job);
};

struct scheduler {
    const struct scheduler_ops *ops;
    void *priv;
};

/* One for each kind. Strings of config must live until close. ERR_SCHED when there is no scheduler
 * of this kind here, with what to type next; that it cannot be reached may only be told by the
 * first question. */
struct scheduler *scheduler_slurm_open(const struct scheduler_config *config, struct err *e);
struct scheduler *scheduler_local_open(const struct scheduler_config *config, struct err *e);
struct scheduler *scheduler_dry_open(const struct scheduler_config *config, struct err *e);
void scheduler_close(struct scheduler *s);

/* The partition called name, or the default one for NULL. For several, with commas, the most that
 * one of them gives. ERR_SCHED when there is none. */
int scheduler_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                        struct err *e);

/* Would this job ever run? -1 with ERR_SCHED and the reason (more nodes or GPUs than the partition
 * has, time above its limit, unknown account ...). Nothing is submitted. */
int scheduler_check(struct scheduler *s, const struct job *job, struct err *e);

/* The same, and when and where it would start if it were submitted now. job->script may be NULL. */
int scheduler_forecast(struct scheduler *s, const struct job *job, struct scheduler_forecast *dst,
                       struct err *e);

/* These will be asked in a moment: a partition, a query by tag_prefix, a check of job (NULL: not
 * the query, not the check). A scheduler that can works on the answers meanwhile; nothing else
 * follows. */
void scheduler_announce(struct scheduler *s, const char *tag_prefix, const struct job *job);

/* Submit one job. -1 means that no job exists, except when e->code is ERR_INTERNAL: lost. */
int scheduler_submit(struct scheduler *s, const struct job *job, char id[SCHEDULER_ID_SIZE],
                     struct err *e);

/* Submit several, perhaps at the same time; after a refusal no other one is begun. in_flight: file
 * that has their tags while an answer is due, and stays if one is lost (see in_flight.h); NULL:
 * none. feed: asked for each before it goes, while earlier ones may be on their way; one that fails
 * is refused; NULL: all are ready. */
void scheduler_submit_all(struct scheduler *s, const struct job *jobs, size_t count,
                          const char *in_flight, const struct scheduler_feed *feed,
                          struct scheduler_result *results);

/* Every job whose tag starts with tag_prefix, in one call, by id. The caller frees *states (NULL
 * for none). Slurm forgets ended jobs after a while (MinJobAge): absent is no proof of failure, the
 * DONE or FAILED marker is the truth. */
int scheduler_query(struct scheduler *s, const char *tag_prefix, struct job_state **states,
                    size_t *nstates, struct err *e);

/* What the scheduler knows of jobs with another tag, or accounting of forgotten ones. states: their
 * ids; those that are found get phase, state, exit_code, signal, times and nodes, the others keep
 * an empty state. *source: where from, "" if there is no accounting. 0, or -1 with ERR_SCHED. */
int scheduler_recall(struct scheduler *s, struct job_state *states, size_t count,
                     const char **source, struct err *e);

/* Cancel; a job that already ended, or is no longer known, is no error. */
int scheduler_cancel(struct scheduler *s, const char *id, struct err *e);

#endif
