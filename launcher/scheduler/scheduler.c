/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/scheduler.h"


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

/* ---- what a scheduler knows of a job ---- */

int job_id_compare(const void *a, const void *b)
{
    unsigned long x = strtoul(a, NULL, 10), y = strtoul(b, NULL, 10);

    return (x > y) - (x < y);
}

void job_state_set(struct job_state *s, enum state state)
{
    s->state = state;
    s->phase = state_job_phase(state);
}

/* ---- no scheduler: prints what would be submitted ---- */

static void dry_submit(struct scheduler *s, const struct job *jobs, size_t count,
                       struct scheduler_result *results)
{
    for (size_t i = 0; i < count; i++) {
        const struct job *job = &jobs[i];
        printf("would submit %s: %d node%s, %d task%s, %d GPU%s each: sbatch %s\n", job->name,
               job->nodes, plural(job->nodes), job->tasks, plural(job->tasks),
               job->gpus_per_task, plural(job->gpus_per_task), job->script);
        results[i].outcome = SCHEDULER_SUBMITTED;
        strcpy(results[i].id, "dry");
    }
}

struct scheduler *scheduler_dry_open(const struct scheduler_config *config, struct err *e)
{
    static const struct scheduler_ops ops = {.name = "dry", .submit = dry_submit};
    static struct scheduler dry = {.ops = &ops};

    return &dry;
}

/* ---- the interface ---- */

void scheduler_close(struct scheduler *s)
{
    if (s && s->ops->close)
        s->ops->close(s);
}

int scheduler_account_usage(struct scheduler *s, const char *account, time_t since,
                            struct scheduler_usage *dst, struct err *e)
{
    *dst = (struct scheduler_usage){0};
    return s->ops->usage ? s->ops->usage(s, account, since, dst, e)
                         : err_set(e, ERR_SCHED, "only Slurm's accounting knows what an account has "
                                   "used (--scheduler slurm)");
}

int scheduler_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                        struct err *e)
{
    *p = (struct scheduler_partition){0};
    return s->ops->partition ? s->ops->partition(s, name, p, e) : 0;
}

int scheduler_forecast(struct scheduler *s, const struct job *job, struct scheduler_forecast *dst,
                       struct err *e)
{
    *dst = (struct scheduler_forecast){0};
    return s->ops->check ? s->ops->check(s, job, dst, e) : 0;
}

int scheduler_check(struct scheduler *s, const struct job *job, struct err *e)
{
    struct scheduler_forecast ignored;

    return scheduler_forecast(s, job, &ignored, e);
}

int scheduler_submit(struct scheduler *s, const struct job *job, char id[SCHEDULER_ID_SIZE],
                     struct err *e)
{
    struct scheduler_result result;

    scheduler_submit_all(s, job, 1, &result);
    if (result.outcome == SCHEDULER_SUBMITTED) {
        snprintf(id, SCHEDULER_ID_SIZE, "%s", result.id);
        return 0;
    }
    *e = result.reason;
    e->code = result.outcome == SCHEDULER_LOST ? ERR_INTERNAL : e->code;
    return -1;
}

void scheduler_submit_all(struct scheduler *s, const struct job *jobs, size_t count,
                          struct scheduler_result *results)
{
    for (size_t i = 0; i < count; i++)
        results[i] = (struct scheduler_result){.outcome = SCHEDULER_NOT_TRIED};
    s->ops->submit(s, jobs, count, results);
}

int scheduler_query(struct scheduler *s, const char *tag_prefix, bool everybody,
                    struct job_state **states, size_t *nstates, struct err *e)
{
    *states = NULL;
    *nstates = 0;
    return s->ops->query ? s->ops->query(s, tag_prefix, everybody, states, nstates, e) : 0;
}

int scheduler_find(struct scheduler *s, const struct scheduler_ids *ids, bool in_accounting,
                   struct scheduler_found *dst, struct err *e)
{
    *dst = (struct scheduler_found){0};
    return s->ops->find && ids->count ? s->ops->find(s, ids, in_accounting, dst, e) : 0;
}

int scheduler_cancel(struct scheduler *s, const char *id, struct err *e)
{
    return scheduler_cancel_all(s, &(const struct scheduler_ids){&id, 1}, e);
}

int scheduler_cancel_all(struct scheduler *s, const struct scheduler_ids *ids, struct err *e)
{
    return s->ops->cancel && ids->count ? s->ops->cancel(s, ids, e) : 0;
}

int scheduler_release(struct scheduler *s, const char *id, struct err *e)
{
    return s->ops->release ? s->ops->release(s, id, e)
                           : err_set(e, ERR_SCHED, "scheduler %s holds no jobs", s->ops->name);
}
