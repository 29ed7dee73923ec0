/* SPDX-License-Identifier: BSD-3-Clause */
/* This machine as a scheduler: a queue of scripts, of which a configured number run at a time.
 * Each job has a keeper process (local_keeper.h), whose pid and start time are in the job's
 * record. Readers of a record check them, so that they notice if the keeper crashed or the machine
 * was rebooted. */
#include "config.h"
#include "launcher/scheduler/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/host/statedir.h"
#include "launcher/scheduler/local/local_keeper.h"
#include "src/clock.h"
#include "src/run/lockfile.h"
#include "src/mem.h"

#define ORPHANS_WAIT_S 10 /* seconds from TERM to KILL, at most */
#define LOCK_S 60 /* how long another submission may take a number */
#define KEEP_S (30 * 24 * 3600) /* seconds for which records of ended jobs are kept */

struct local {
    struct scheduler scheduler;
    char dir[PATH_MAX];
    int max_in_flight;
    bool has_forgotten; /* forget_old was called */
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

/* Removes the records of jobs that ended more than KEEP_S ago. */
static void forget_old(const char *dir)
{
    char text[SCHEDULER_ID_SIZE], path[PATH_MAX];
    unsigned long *ids;
    struct local_record r;
    struct err e;
    size_t n;

    if (local_record_list(dir, &ids, &n, &e) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%lu", ids[i]);
        if (local_record_read(dir, text, &r, &e) == 0 && r.state.ended &&
            clock_age(r.state.ended) > KEEP_S && local_record_path(dir, text, path, &e) == 0)
            unlink(path);
    }
    free(ids);
}

/* Takes the next number. The file "last" in dir holds the previous one, so that no number is used
 * twice, even after its record was removed. */
static int next_id(const char *dir, char id[SCHEDULER_ID_SIZE], struct err *e)
{
    char path[PATH_MAX], text[24] = "";
    int rc = -1;

    if (snprintf(path, sizeof path, "%s/last", dir) >= (int)sizeof path)
        return err_set(e, ERR_INTERNAL, "the path %s is too long", dir);
    int fd = lockfile_open(path, false, e);
    if (fd < 0 || lockfile_take(fd, path, "another unetctl that submits", LOCK_S, e)) {
        e->code = ERR_SCHED;
    } else if (pread(fd, text, sizeof text - 1, 0) < 0) {
        err_errno(e, ERR_SCHED, errno, "cannot number a job in %s", path);
    } else {
        snprintf(id, SCHEDULER_ID_SIZE, "%lu", strtoul(text, NULL, 10) + 1);
        if (pwrite(fd, id, strlen(id), 0) != (ssize_t)strlen(id) || fsync(fd) < 0)
            err_errno(e, ERR_SCHED, errno, "cannot number a job in %s", path);
        else
            rc = 0;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Removes the record of a job whose keeper ended at once. Returns -1 with that reason. */
static int withdraw(const char *dir, const char *id, struct err *e)
{
    char path[PATH_MAX];

    if (local_record_path(dir, id, path, e) == 0)
        unlink(path);
    return err_set(e, ERR_SCHED, "the keeper of job %s ended immediately", id);
}

static int submit_job(struct scheduler *s, const struct job *job, char id[SCHEDULER_ID_SIZE],
                      struct err *e)
{
    struct local *local = s->priv;
    struct local_keeper k = {.dir = local->dir, .job = job, .max_in_flight = local->max_in_flight};
    struct job_state *state = &k.record.state;
    int channel = -1, rc = -1;

    struct scheduler_forecast ignored;
    if (local_check(s, job, &ignored, e) < 0 || next_id(local->dir, id, e) < 0)
        return -1;
    if (!local->has_forgotten) /* it reads the records of all jobs */
        forget_old(local->dir);
    local->has_forgotten = true;
    snprintf(state->id, sizeof state->id, "%s", id);
    snprintf(state->tag, sizeof state->tag, "%s", job->tag);
    snprintf(state->name, sizeof state->name, "%s", job->name);
    job_state_set(state, STATE_PENDING);
    strcpy(state->reason, "waits for earlier jobs of the local queue");
    state->submitted = time(NULL);
    pid_t keeper = local_keeper_start(&k, &channel, e);
    if (keeper < 0)
        return -1;
    if (procid_get(keeper, &k.record.keeper) < 0)
        err_set(e, ERR_SCHED, "the keeper of job %s ended immediately", id);
    else if (local_record_write(local->dir, &k.record, e) == 0)
        rc = 0;
    if (rc == 0 && send(channel, "g", 1, MSG_NOSIGNAL) != 1)
        rc = withdraw(local->dir, id, e);
    close(channel);
    return rc;
}

static void local_submit(struct scheduler *s, const struct job *jobs, size_t count,
                         struct scheduler_result *results)
{
    for (size_t i = 0; i < count; i++) {
        struct scheduler_result *r = &results[i];
        if (submit_job(s, &jobs[i], r->id, &r->reason)) {
            r->outcome = r->reason.code == ERR_INTERNAL ? SCHEDULER_LOST : SCHEDULER_REFUSED;
            return;
        }
        r->outcome = SCHEDULER_SUBMITTED;
    }
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

/* Terminates, then kills, the processes of a job whose keeper was killed, and records the job as
 * CANCELLED. */
static int end_orphans(const char *dir, struct local_record *r, struct err *e)
{
    procid_signal_session(r->keeper.pid, SIGTERM);
    for (double end = clock_now() + ORPHANS_WAIT_S; local_record_has_orphans(r) &&
         clock_now() < end;)
        clock_sleep(0.02);
    procid_signal_session(r->keeper.pid, SIGKILL);
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
    if (procid_is_alive(&r.keeper))
        kill(r.keeper.pid, SIGTERM);
    else if (local_record_has_orphans(&r))
        return end_orphans(local->dir, &r, e);
    return 0;
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
