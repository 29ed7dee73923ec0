/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/state.h"

#include <stdio.h>
#include <string.h>

static const struct row {
    const char *name;
    enum job_phase job;
    enum run_phase run;
    const char *meaning, *next; /* NULL: none */
} rows[STATE_COUNT] = {
#define ROW(name, job, run, ...) [STATE_##name] = {#name, PHASE_##job, RUN_##run, __VA_ARGS__}
    ROW(PENDING, PENDING, ACTIVE, NULL, NULL),
    ROW(CONFIGURING, RUNNING, ACTIVE, NULL, NULL),
    ROW(RUNNING, RUNNING, ACTIVE, NULL, NULL),
    ROW(SUSPENDED, RUNNING, ACTIVE, NULL, NULL),
    ROW(COMPLETING, RUNNING, ACTIVE, NULL, NULL),
    ROW(COMPLETED, ENDED, GOOD, NULL, NULL),
    ROW(FAILED, ENDED, BAD, NULL, NULL),
    ROW(TIMEOUT, ENDED, BAD, "the time limit was reached",
        "'unetctl resume' continues, or give it more time (slurm.time)"),
    ROW(CANCELLED, ENDED, BAD, NULL, "'unetctl resume' continues"),
    ROW(OUT_OF_MEMORY, ENDED, BAD, "it used more memory than requested",
        "'unetctl resume' with more (slurm.mem), or a new study with a smaller "
        "train.batch_per_gpu"),
    ROW(NODE_FAIL, ENDED, BAD, "a node failed", "'unetctl resume' continues elsewhere"),
    ROW(PREEMPTED, ENDED, BAD, "a job of higher priority took its nodes",
        "'unetctl resume' continues"),
    ROW(BOOT_FAIL, ENDED, BAD, "a node did not boot", "'unetctl resume' tries others"),
    ROW(DEADLINE, ENDED, BAD, "its --deadline passed before it ended",
        "'unetctl resume' with a later one"),
    ROW(LAUNCH_FAILED, ENDED, BAD, NULL, NULL),
    ROW(REQUEUED, PENDING, ACTIVE, NULL, NULL),
    ROW(REQUEUE_FED, PENDING, ACTIVE, NULL, NULL),
    ROW(REQUEUE_HOLD, PENDING, ACTIVE, NULL, NULL),
    ROW(RESIZING, RUNNING, ACTIVE, NULL, NULL),
    ROW(RESV_DEL_HOLD, PENDING, ACTIVE, NULL, NULL),
    ROW(REVOKED, ENDED, BAD, "another cluster took it", NULL),
    ROW(SIGNALING, RUNNING, ACTIVE, NULL, NULL),
    ROW(SPECIAL_EXIT, PENDING, ACTIVE, NULL, NULL),
    ROW(STAGE_OUT, RUNNING, ACTIVE, NULL, NULL),
    ROW(STOPPED, RUNNING, ACTIVE, NULL, NULL),
    ROW(EXPEDITING, PENDING, ACTIVE, NULL, NULL),
    ROW(PLANNED, PENDING, PLANNED, NULL, NULL),
    ROW(SKIPPED, ENDED, BAD, NULL, NULL),
    ROW(ENDED, ENDED, ACTIVE, NULL, NULL),
    ROW(UNSEEN, RUNNING, ACTIVE, NULL, NULL),
    ROW(LOST, ENDED, BAD, NULL, NULL),
    ROW(UNKNOWN, RUNNING, UNKNOWN, "a state that this unetctl does not know",
        "squeue and sacct show it"),
    ROW(DAMAGED, ENDED, BAD, NULL, NULL),
#undef ROW
};

const char *state_name(enum state s)
{
    return rows[s].name;
}

enum state state_find(const char *name)
{
    for (int i = 0; i < STATE_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (enum state)i;
    return STATE_UNKNOWN;
}

const char *const *state_names(void)
{
    static const char *names[STATE_COUNT + 1];

    for (int i = 0; i < STATE_COUNT; i++)
        names[i] = rows[i].name;
    return names;
}

enum job_phase state_job_phase(enum state s)
{
    return rows[s].job;
}

enum run_phase state_run_phase(enum state s)
{
    return rows[s].run;
}

void state_explain(enum state s, char *dst, size_t size)
{
    const char *meaning = rows[s].meaning, *next = rows[s].next;

    snprintf(dst, size, "%s%s%s", meaning ? meaning : "", meaning && next ? "; " : "",
             next ? next : "");
}
