/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of jobs and runs: those of Slurm, and those that unetctl adds for runs. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_STATE_H
#define UNETCTL_LAUNCHER_SCHEDULER_STATE_H

#include <stddef.h>

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
    STATE_UNSEEN,  /* its job is not shown, but not for long (absent.h) */
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

/* Returns the name in the documents of helpers, records and `status`, such as "PENDING". */
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

#endif
