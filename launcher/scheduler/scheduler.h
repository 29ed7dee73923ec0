/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers: Slurm (through the helper unetctl-slurm), this machine, or none (dry).
 *
 * A job's identity is its tag: after a crash scheduler_query finds jobs of the ledger by their
 * tags, so that nothing is submitted twice. */
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

/* The resources of a partition; zeros where they are unknown. */
struct scheduler_partition {
    char name[64];
    int nodes;
    int gpus_per_node; /* the most that any of its nodes has */
    int cpus_per_node; /* the least */
    int max_time_min;  /* 0: no limit */
};

/* What the scheduler expects of a job that was not submitted. */
struct scheduler_forecast {
    time_t start;    /* 0: unknown */
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
    SCHEDULER_NOT_TRIED, /* an earlier one was refused */
    SCHEDULER_SUBMITTED,
    SCHEDULER_REFUSED,   /* no job exists */
    SCHEDULER_LOST       /* the answer is lost: query the tag before another try */
};

struct scheduler_result {
    enum scheduler_outcome outcome;
    char id[SCHEDULER_ID_SIZE]; /* as the scheduler prints it */
    struct err reason;          /* of REFUSED and LOST */
    bool is_full;               /* REFUSED by a limit that has room when jobs end */
};

/* Prepares what job i of a submission needs (its script), in order. */
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

/* Opens a scheduler of each kind. Strings of config must live until close. ERR_SCHED if there is
 * none here, with what to type next; an unreachable one may only be noticed by the first query. */
struct scheduler *scheduler_slurm_open(const struct scheduler_config *config, struct err *e);
struct scheduler *scheduler_local_open(const struct scheduler_config *config, struct err *e);
struct scheduler *scheduler_dry_open(const struct scheduler_config *config, struct err *e);
void scheduler_close(struct scheduler *s);

/* The partition called name, or the default one for NULL. For several, with commas, the most that
 * one of them gives. ERR_SCHED when there is none. */
int scheduler_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                        struct err *e);

/* Can this job ever run? -1 with ERR_SCHED and the reason (more nodes or GPUs than the partition
 * has, time above its limit, unknown account ...). Nothing is submitted. */
int scheduler_check(struct scheduler *s, const struct job *job, struct err *e);

/* The same, and when and where it would start if it were submitted now. job->script may be NULL. */
int scheduler_forecast(struct scheduler *s, const struct job *job, struct scheduler_forecast *dst,
                       struct err *e);

/* Announces calls that follow soon: scheduler_partition, scheduler_query of tag_prefix,
 * scheduler_check of job (NULL: not the query, not the check), so that the scheduler can prepare
 * their answers. */
void scheduler_announce(struct scheduler *s, const char *tag_prefix, const struct job *job);

/* Submit one job. -1 means that no job exists, except when e->code is ERR_INTERNAL: lost. */
int scheduler_submit(struct scheduler *s, const struct job *job, char id[SCHEDULER_ID_SIZE],
                     struct err *e);

/* Submits several jobs, possibly concurrently; after a refusal no further one is started.
 * in_flight: a file that has their tags while an answer is due, and remains if one is lost (see
 * in_flight.h); NULL: none. feed: called for each job before its submission, while earlier ones
 * may be in flight; a job for which it fails is refused; NULL: all are ready. */
void scheduler_submit_all(struct scheduler *s, const struct job *jobs, size_t count,
                          const char *in_flight, const struct scheduler_feed *feed,
                          struct scheduler_result *results);

/* Every job whose tag starts with tag_prefix, in one call, by id. The caller frees *states (NULL
 * for none). Slurm forgets ended jobs after a while (MinJobAge): a missing job need not have
 * failed: the DONE or FAILED marker decides. */
int scheduler_query(struct scheduler *s, const char *tag_prefix, struct job_state **states,
                    size_t *nstates, struct err *e);

/* Looks up jobs by their ids in states, also in accounting: fills phase, state, exit_code, signal,
 * times and nodes of those that are found; others keep an empty state. *source: "" if there is no
 * accounting. 0, or -1 with ERR_SCHED. */
int scheduler_recall(struct scheduler *s, struct job_state *states, size_t count,
                     const char **source, struct err *e);

/* Cancels a job; one that has ended or is unknown is not an error. */
int scheduler_cancel(struct scheduler *s, const char *id, struct err *e);

#endif
