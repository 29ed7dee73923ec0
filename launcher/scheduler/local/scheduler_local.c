/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/local/local.h"

#include <dirent.h>
#include <signal.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/format/schema.h"

#define RECORD_LIMIT ((size_t)1 << 16)

int local_record_path(const char *dir, const char *id, char dst[PATH_MAX], struct err *e)
{
    if (snprintf(dst, PATH_MAX, "%s/%s.json", dir, id) >= PATH_MAX)
        return err_set(e, ERR_INTERNAL, "the path %s is too long", dir);
    return 0;
}

int local_record_write(const char *dir, const struct local_record *r, struct err *e)
{
    const struct job_state *s = &r->state;
    char path[PATH_MAX];
    /* a reason that is cut within a character is left out */
    json_t *o = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:o*, s:i, s:i, s:i, s:I, s:I, s:I, s:i, s:I, s:i, s:I, s:s, "
        "s:s}",
        "schema", SCHEMA, "id", s->id, "tag", s->tag, "name", s->name, "state",
        state_name(s->state), "reason", json_string(s->reason), "exit_code", s->exit_code, "signal",
        s->signal, "restarts", s->restarts, "submitted", (json_int_t)s->submitted, "started",
        (json_int_t)s->started, "ended", (json_int_t)s->ended, "keeper", (int)r->runner.pid,
        "keeper_start", (json_int_t)r->runner.start, "script", (int)r->script.pid, "script_start",
        (json_int_t)r->script.start, "boot", r->runner.boot, "host", r->host);
    char *text = json_dumps(o, JSON_INDENT(1));
    int rc = -1;

    json_decref(o);
    if (!text)
        err_set(e, ERR_CONFIG, "the name of job %s is not UTF-8", s->id);
    else if (local_record_path(dir, s->id, path, e) == 0)
        rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
    return rc;
}

int local_record_read(const char *dir, const char *id, struct local_record *r, struct err *e)
{
    struct job_state *s = &r->state;
    char path[PATH_MAX];

    *r = (struct local_record){0};
    if (local_record_path(dir, id, path, e) < 0)
        return -1;
    json_t *o = jsonio_read(path, RECORD_LIMIT, e);
    if (!o)
        return access(path, F_OK)
                   ? -1
                   : err_prefix(e, "cannot read a job; if its file is damaged, remove it");
    *s = (struct job_state){.uid = -1,
                            .exit_code = (int)jsonio_integer(o, "exit_code"),
                            .signal = (int)jsonio_integer(o, "signal"),
                            .restarts = (int)jsonio_integer(o, "restarts"),
                            .submitted = (time_t)jsonio_integer(o, "submitted"),
                            .started = (time_t)jsonio_integer(o, "started"),
                            .ended = (time_t)jsonio_integer(o, "ended")};
    job_state_set(s, state_find(jsonio_text(o, "state")));
    snprintf(s->id, sizeof s->id, "%s", id);
    snprintf(s->tag, sizeof s->tag, "%s", jsonio_text(o, "tag"));
    snprintf(s->name, sizeof s->name, "%s", jsonio_text(o, "name"));
    snprintf(s->reason, sizeof s->reason, "%s", jsonio_text(o, "reason"));
    snprintf(r->host, sizeof r->host, "%s", jsonio_text(o, "host"));
    snprintf(r->runner.boot, sizeof r->runner.boot, "%s", jsonio_text(o, "boot"));
    r->runner.pid = (pid_t)jsonio_integer(o, "keeper");
    r->runner.start = (unsigned long long)jsonio_integer(o, "keeper_start");
    r->script = r->runner;
    r->script.pid = (pid_t)jsonio_integer(o, "script");
    r->script.start = (unsigned long long)jsonio_integer(o, "script_start");
    json_decref(o);
    return 0;
}

/* The script's pid is the number of the job's session. As long as a process of the session is
 * left, the kernel gives no new process that number. */
bool local_record_has_orphans(const struct local_record *r)
{
    struct procid now;

    if (r->script.pid == 0 || procid_is_alive(&r->runner) || !procid_is_boot(&r->script))
        return false;
    return procid_is_alive(&r->script) || (procid_get(r->script.pid, &now) < 0 &&
                                           procid_signal_session(r->script.pid, 0) > 0);
}

static bool is_of_another_host(const struct local_record *r)
{
    char host[sizeof r->host] = "";

    gethostname(host, sizeof host - 1);
    return *r->host && strcmp(r->host, host) != 0 && !procid_is_boot(&r->runner);
}

void local_record_judge(const char *dir, struct local_record *r)
{
    struct job_state *s = &r->state;

    if (s->ended) {
        s->phase = PHASE_ENDED;
    } else if (is_of_another_host(r)) {
        job_state_set(s, STATE_UNKNOWN);
        snprintf(s->reason, sizeof s->reason, "its state is hidden: it is in the local queue of "
                 "host %s; type this there or, if its job was lost with that host, remove "
                 "%.150s/%.32s.json", r->host, dir, s->id);
    } else if (procid_is_alive(&r->runner) || local_record_has_orphans(r)) {
        s->phase = s->started ? PHASE_RUNNING : PHASE_PENDING;
    } else {
        job_state_set(s, STATE_NODE_FAIL);
        strcpy(s->reason, "the unetctl that ran the job was killed, or this machine was restarted; "
                          "'unetctl resume' continues");
    }
}

static int by_number(const void *a, const void *b)
{
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

    return (x > y) - (x < y);
}

int local_record_list(const char *dir, unsigned long **dst, size_t *n, struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    size_t capacity = 0;

    *dst = NULL;
    *n = 0;
    if (!d)
        return err_errno(e, ERR_INTERNAL, errno, "cannot read %s", dir);
    while ((entry = readdir(d))) {
        char *end;
        unsigned long id = strtoul(entry->d_name, &end, 10);
        if (id == 0 || strcmp(end, ".json") != 0)
            continue;
        if (mem_grow(dst, *n, &capacity, sizeof **dst, e)) {
            closedir(d);
            free(*dst);
            *dst = NULL;
            return -1;
        }
        (*dst)[(*n)++] = id;
    }
    closedir(d);
    if (*n > 1)
        qsort(*dst, *n, sizeof **dst, by_number);
    return 0;
}

/* ---- the scheduler ---- */

/* This machine as a scheduler: a queue of scripts, of which a configured number run at a time.
 * Each submission has a runner process (local.h), whose pid and start time are in the jobs'
 * records. Readers of a record check them, so that they notice if the runner was killed or the
 * machine was rebooted. */

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
        if (rc || !text_begins(r.state.tag, tag_prefix))
            continue;
        local_record_judge(local->dir, &r);
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
    if (rc == 0 && (rc = path_make_folder(local->dir, e)) < 0) {
        const struct err plain = *e;
        err_set(e, plain.code, "%s; set XDG_STATE_HOME to a folder that you can write", plain.text);
    }
    if (rc < 0) {
        free(local);
        return NULL;
    }
    return &local->scheduler;
}
