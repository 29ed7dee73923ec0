/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scheduler knows of a job, as a struct and as the JSON object of the helpers' protocol and
 * of the local queue's records. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_JOB_STATE_H
#define UNETCTL_LAUNCHER_SCHEDULER_JOB_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

#include "launcher/scheduler/state.h"

#define SCHEDULER_ID_SIZE 32

struct job_state {
    char id[SCHEDULER_ID_SIZE];
    enum job_phase phase; /* that of state */
    enum state state;
    /* Why it is pending or why it ended, for people; "" if there is no reason, or if the state says
     * all. */
    char reason[384];
    bool held;        /* it waits until it is released; not in the JSON object */
    int exit_code;    /* of the script, when the phase is PHASE_ENDED */
    int signal;       /* the signal that ended it, or 0 */
    int restarts;     /* how often it was requeued */
    time_t submitted, started, ended; /* 0 if that has not happened */
    /* From Slurm's accounting: energy of its nodes, which it had for itself, and how many seconds
     * were counted; 0: unknown. Not encoded. */
    double joules, joules_s;
    char nodes[128]; /* list in Slurm's notation; "" before the job starts, or if it is local */
    char tag[256];
    char name[128];
    long uid;      /* of the user who submitted it; -1: unknown */
    char user[64]; /* that user's name, or "" */
};

/* Sets the state and its phase. */
void job_state_set(struct job_state *s, enum state state);

/* Returns the object, or NULL if memory ran out. Text that is not UTF-8 becomes "". */
json_t *job_state_encode(const struct job_state *s);

/* Decodes an object; absent members are "", 0, and for uid -1. */
void job_state_decode(const json_t *o, struct job_state *dst);

#endif
