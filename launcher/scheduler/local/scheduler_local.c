/* SPDX-License-Identifier: BSD-3-Clause */
/* This machine as a scheduler: a queue of scripts, of which a configured number run at a time.
 * Each submission has a runner process (local_runner.h), whose pid and start time are in the jobs'
 * records. Readers of a record check them, so that they notice if the runner was killed or the
 * machine was rebooted. */
#include "config.h"
#include "launcher/scheduler/scheduler.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/host/statedir.h"
#include "launcher/scheduler/local/local_runner.h"
#include "src/clock.h"
#include "src/mem.h"

#define ORPHANS_WAIT_S 10 /* seconds from TERM to KILL, at most */

struct local {
    struct scheduler scheduler;
    char dir[PATH_MAX];
    int max_in_flight;
};

static int local_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                           struct err *e)
{
    *p = (struct scheduler_partition){.nodes = 1};
    strcpy(p->name, "local");
    p->cpus_per_node = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return 0;
}

static int local_check(struct scheduler *s, const struct job *job,
                       struct scheduler_forecast *forecast, struct err *e)
{
    forecast->start = 0; /* unknown: it depends on the end of earlier jobs */
    if (job->script && access(job->script, R_OK) < 0)
        return err_errno(e, ERR_SCHED, errno, "cannot read %s", job->script);
    const char *list = job->options.dependency;
    if (list && list[strspn(list, "afterny:,0123456789")] != 0)
        return err_set(e, ERR_SCHED, "--dependency=%s: the local queue supports only afterany:ID",
                       list);
    return 0;
}

static void local_submit(struct scheduler *s, const struct job *jobs, size_t count,
                         struct scheduler_result *results)
{
    const struct local *local = s->priv;
    struct scheduler_forecast ignored;
    struct err e;
    size_t n = 0;

    while (n < count && local_check(s, &jobs[n], &ignored, &e) == 0)
        n++;
    if (n)
        local_runner_start(local->dir, local->max_in_flight, jobs, n, results);
    if (n < count && (n == 0 || results[n - 1].outcome == SCHEDULER_SUBMITTED))
        results[n] = (struct scheduler_result){.outcome = SCHEDULER_REFUSED, .reason = e};
}

static int local_query(struct scheduler *s, const char *tag_prefix, bool everybody,
                       struct job_state **states, size_t *nstates, struct err *e)
{
    const struct local *local = s->priv;
    char text[SCHEDULER_ID_SIZE];
    unsigned long *ids;
    struct local_record r;
    size_t n;

    if (local_record_list(local->dir, &ids, &n, e) < 0)
        return -1;
    *states = mem_zero(n, sizeof **states, e);
    int rc = *states ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        snprintf(text, sizeof text, "%lu", ids[i]);
        rc = local_record_read(local->dir, text, &r, e);
        if (rc || strncmp(r.state.tag, tag_prefix, strlen(tag_prefix)) != 0)
            continue;
        local_record_judge(&r);
        r.state.uid = -1;
        (*states)[(*nstates)++] = r.state;
    }
    free(ids);
    if (rc || *nstates == 0) {
        free(*states);
        *states = NULL;
        *nstates = 0;
    }
    return rc;
}

/* Terminates, then kills, the processes of a job whose runner was killed, and records the job as
 * CANCELLED. */
static int end_orphans(const char *dir, struct local_record *r, struct err *e)
{
    procid_signal_session(r->script.pid, SIGTERM);
    for (double end = clock_now() + ORPHANS_WAIT_S; local_record_has_orphans(r) &&
         clock_now() < end;)
        clock_sleep(0.02);
    procid_signal_session(r->script.pid, SIGKILL);
    job_state_set(&r->state, STATE_CANCELLED);
    r->state.ended = time(NULL);
    return local_record_write(dir, r, e);
}

static int cancel_job(const struct local *local, const char *id, struct err *e)
{
    char path[PATH_MAX];
    struct local_record r;

    if (id[strspn(id, "0123456789")] != 0 || local_record_path(local->dir, id, path, e) < 0)
        return err_set(e, ERR_SCHED, "'%s' is not the id of a local job", id);
    if (access(path, F_OK) < 0)
        return 0;
    if (local_record_read(local->dir, id, &r, e) < 0)
        return -1;
    if (r.state.ended)
        return 0;
    if (procid_is_alive(&r.runner))
        return local_runner_cancel(&r, e);
    return local_record_has_orphans(&r) ? end_orphans(local->dir, &r, e) : 0;
}

static int local_cancel(struct scheduler *s, const struct scheduler_ids *ids, struct err *e)
{
    for (size_t i = 0; i < ids->count; i++)
        if (cancel_job(s->priv, ids->ids[i], e))
            return -1;
    return 0;
}

static void local_close(struct scheduler *s)
{
    free(s->priv);
}

struct scheduler *scheduler_local_open(const struct scheduler_config *config, struct err *e)
{
    static const struct scheduler_ops ops = {.name = "local",
                                             .partition = local_partition,
                                             .check = local_check,
                                             .submit = local_submit,
                                             .query = local_query,
                                             .cancel = local_cancel,
                                             .close = local_close};
    struct local *local = mem_zero(1, sizeof *local, e);
    int rc = 0;

    if (!local)
        return NULL;
    local->scheduler = (struct scheduler){.ops = &ops, .priv = local};
    local->max_in_flight = config->max_in_flight > 0 ? config->max_in_flight : 1;
    if (!config->state_dir)
        rc = statedir_path("local", local->dir, e);
    else if (snprintf(local->dir, sizeof local->dir, "%s",
                      config->state_dir) >= (int)sizeof local->dir)
        rc = err_set(e, ERR_CONFIG, "the path %s is too long", config->state_dir);
    if (rc < 0 || path_make_folder(local->dir, e) < 0) {
        free(local);
        return NULL;
    }
    return &local->scheduler;
}
