/* SPDX-License-Identifier: BSD-3-Clause */
/* This machine as a scheduler: a queue of scripts, as many at once as the configuration says.
 *
 * Each job has a keeper, a process that outlives unetctl: it waits for the job's turn, runs the
 * script, ends its time limit, and writes the job's record STATE/ID.json. The keeper leads the
 * session in which everything of the job runs. Who reads a record checks pid and start time of the
 * keeper, so a crash or a reboot is seen. */
#include "config.h"
#include "launcher/scheduler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/jobenv.h"
#include "launcher/procid.h"
#include "launcher/statedir.h"
#include "src/atomicfile.h"
#include "src/buf.h"

#define RECORD_LIMIT ((size_t)1 << 16)
#define KEEP_S (30 * 24 * 3600) /* records of ended jobs are kept so long */
#define KILL_WAIT_S 10          /* between TERM and KILL, as Slurm's KillWait */
#define POLL_NS 200000000L      /* a waiting keeper looks at the queue */

struct local {
    struct scheduler scheduler;
    char dir[PATH_MAX];
    int max_in_flight;
};

struct record {
    struct job_state state; /* as the keeper wrote it */
    struct procid keeper;
};

/* ---- records ---- */

static int record_path(const char *dir, const char *id, char dst[PATH_MAX], struct err *e)
{
    if (snprintf(dst, PATH_MAX, "%s/%s.json", dir, id) >= PATH_MAX)
        return err_set(e, ERR_INTERNAL, "the path %s is too long", dir);
    return 0;
}

static int record_write(const char *dir, const struct record *r, struct err *e)
{
    const struct job_state *s = &r->state;
    char path[PATH_MAX];
    json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:i, s:I, s:s}",
                          "schema", 1, "id", s->id, "tag", s->tag, "name", s->name, "state", s->state,
                          "reason", s->reason, "exit_code", s->exit_code, "signal", s->signal,
                          "restarts", s->restarts, "submitted", (json_int_t)s->submitted, "started",
                          (json_int_t)s->started, "ended", (json_int_t)s->ended, "keeper", (int)r->keeper.pid, "keeper_start",
                          (json_int_t)r->keeper.start, "boot", r->keeper.boot);
    char *text = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
    int rc = -1;

    json_decref(o);
    if (!text)
        err_set(e, ERR_CONFIG, "the name of job %s is not UTF-8", s->id);
    else if (record_path(dir, s->id, path, e) == 0)
        rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
    return rc;
}

static void copy_text(char *dst, size_t size, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    snprintf(dst, size, "%s", text ? text : "");
}

static long long number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static int record_read(const char *dir, const char *id, struct record *r, struct err *e)
{
    struct job_state *s = &r->state;
    char path[PATH_MAX];
    json_error_t error;
    size_t n;

    *r = (struct record){0};
    if (record_path(dir, id, path, e) < 0)
        return -1;
    char *text = atomicfile_read(path, RECORD_LIMIT, &n, e);
    if (!text)
        return -1;
    json_t *o = json_loadb(text, n, 0, &error);
    free(text);
    if (!o || number_of(o, "schema") != 1) {
        json_decref(o);
        return err_set(e, ERR_DATA, "%s is damaged or of another version; remove it", path);
    }
    snprintf(s->id, sizeof s->id, "%s", id);
    copy_text(s->tag, sizeof s->tag, o, "tag");
    copy_text(s->name, sizeof s->name, o, "name");
    copy_text(s->state, sizeof s->state, o, "state");
    copy_text(s->reason, sizeof s->reason, o, "reason");
    copy_text(r->keeper.boot, sizeof r->keeper.boot, o, "boot");
    s->exit_code = (int)number_of(o, "exit_code");
    s->signal = (int)number_of(o, "signal");
    s->restarts = (int)number_of(o, "restarts");
    s->submitted = (time_t)number_of(o, "submitted");
    s->started = (time_t)number_of(o, "started");
    s->ended = (time_t)number_of(o, "ended");
    r->keeper.pid = (pid_t)number_of(o, "keeper");
    r->keeper.start = (unsigned long long)number_of(o, "keeper_start");
    json_decref(o);
    return 0;
}

/* A killed keeper may leave its script running. Its session is still that one while no new process
 * bears its number. */
static bool has_orphans(const struct record *r)
{
    struct procid now;

    return procid_get(r->keeper.pid, &now) < 0 && r->state.started != 0 &&
           procid_is_boot(&r->keeper) && procid_signal_session(r->keeper.pid, 0) > 0;
}

/* Phase, and what the record can't know: that nobody is left to bring it up to date. */
static void judge(struct record *r)
{
    struct job_state *s = &r->state;

    if (s->ended) {
        s->phase = JOB_ENDED;
    } else if (procid_is_alive(&r->keeper) || has_orphans(r)) {
        s->phase = s->started ? JOB_RUNNING : JOB_PENDING;
    } else {
        s->phase = JOB_ENDED;
        strcpy(s->state, "NODE_FAIL");
        strcpy(s->reason, "the job's keeper was killed, or this machine went down");
    }
}

static int by_number(const void *a, const void *b)
{
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

    return (x > y) - (x < y);
}

/* The numbers of all records, ascending; the caller frees *dst. */
static int list_records(const char *dir, unsigned long **dst, size_t *n, struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    size_t capacity = 0;

    *dst = NULL;
    *n = 0;
    if (!d)
        return err_errno(e, ERR_INTERNAL, errno, "can't read %s", dir);
    while ((entry = readdir(d))) {
        char *end;
        unsigned long id = strtoul(entry->d_name, &end, 10);
        if (id == 0 || strcmp(end, ".json") != 0)
            continue;
        if (*n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            unsigned long *more = realloc(*dst, capacity * sizeof **dst);
            if (!more) {
                closedir(d);
                free(*dst);
                return err_set(e, ERR_INTERNAL, "out of memory");
            }
            *dst = more;
        }
        (*dst)[(*n)++] = id;
    }
    closedir(d);
    if (*n > 1)
        qsort(*dst, *n, sizeof **dst, by_number);
    return 0;
}

/* ---- the keeper ---- */

struct keeper {
    const char *dir;
    const struct job *job;
    struct record record;
    int max_in_flight;
    unsigned long *before; /* numbers of jobs before this one that may wait or run */
    size_t nbefore;
    sigset_t signals; /* CHLD, and TERM: cancelled */
};

/* Sleeps up to ns; the signal that came, or 0. */
static int wait_signal(const struct keeper *k, time_t s, long ns)
{
    struct timespec time = {.tv_sec = s, .tv_nsec = ns};
    int signal = sigtimedwait(&k->signals, NULL, &time);

    return signal > 0 ? signal : 0;
}

static void keep_record(struct keeper *k)
{
    struct err e;

    record_write(k->dir, &k->record, &e); /* nobody is there to be told */
}

static void end_job(struct keeper *k, const char *state, const char *reason, int status)
{
    struct job_state *s = &k->record.state;

    strcpy(s->state, state);
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    s->ended = time(NULL);
    s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    s->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    keep_record(k);
}

/* Do jobs that this one waits for ("afterany:1:2,afterany:7") wait or run? One that is not known has
 * ended. */
static bool must_wait(const struct keeper *k)
{
    const char *list = k->job->options.dependency;
    char id[SCHEDULER_ID_SIZE];
    struct record r;
    struct err e;

    while (list && *(list += strcspn(list, "0123456789"))) {
        size_t n = strspn(list, "0123456789");
        snprintf(id, sizeof id, "%.*s", (int)n, list);
        list += n;
        if (record_read(k->dir, id, &r, &e) < 0)
            continue;
        judge(&r);
        if (r.state.phase != JOB_ENDED)
            return true;
    }
    return false;
}

/* Every number from the oldest record on: one that has no record yet may get it. */
static void list_before(struct keeper *k)
{
    unsigned long own = strtoul(k->record.state.id, NULL, 10), *ids = NULL;
    struct err e;
    size_t n;

    if (list_records(k->dir, &ids, &n, &e) == 0 && n && ids[0] < own)
        k->before = malloc((own - ids[0]) * sizeof *k->before);
    for (unsigned long id = k->before ? ids[0] : own; id < own; id++)
        k->before[k->nbefore++] = id;
    free(ids);
}

/* Do as many jobs before this one wait or run as may run at a time? Hundreds ask this together and
 * again and again, so those that have ended are forgotten. */
static bool is_full(struct keeper *k)
{
    char id[SCHEDULER_ID_SIZE];
    struct record r;
    struct err e;
    size_t i, kept = 0;
    int active = 0;

    for (i = 0; i < k->nbefore && active < k->max_in_flight; i++) {
        snprintf(id, sizeof id, "%lu", k->before[i]);
        if (record_read(k->dir, id, &r, &e) == 0) {
            judge(&r);
            if (r.state.phase == JOB_ENDED)
                continue;
            active++;
        }
        k->before[kept++] = k->before[i];
    }
    if (i > kept)
        memmove(k->before + kept, k->before + i, (k->nbefore - i) * sizeof *k->before);
    k->nbefore -= i - kept;
    return active >= k->max_in_flight;
}

static bool wait_turn(struct keeper *k)
{
    bool cancelled = false;

    list_before(k);
    while (!cancelled && (must_wait(k) || is_full(k)))
        cancelled = wait_signal(k, 0, POLL_NS) == SIGTERM;
    free(k->before);
    return !cancelled;
}

/* "%j" is the job's id and "%%" a percent sign, as Slurm has it. */
static char *output_path(const struct job *job, const char *id)
{
    struct buf b = {0};

    for (const char *s = job->output; *s; s++) {
        if (s[0] == '%' && s[1] == 'j')
            buf_add(&b, id);
        else
            buf_add_bytes(&b, s, 1);
        if (s[0] == '%' && (s[1] == 'j' || s[1] == '%'))
            s++;
    }
    return buf_steal(&b);
}

/* In the child; no return. */
static void run_script(const struct keeper *k)
{
    char *output = output_path(k->job, k->record.state.id);
    sigset_t none;
    int fd = output ? open(output, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;

    if (fd < 0)
        _exit(126);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
    jobenv_clean();
    setenv("UNETCTL_JOB_ID", k->record.state.id, 1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(k->job->work_dir) < 0) {
        fprintf(stderr, "%s: %s\n", k->job->work_dir, strerror(errno));
        _exit(126);
    }
    execlp("bash", "bash", k->job->script, (char *)NULL);
    fprintf(stderr, "bash: %s\n", strerror(errno));
    _exit(127);
}

/* The job's processes are asked to end, and made to after a while. */
static int stop_script(const struct keeper *k, pid_t script)
{
    int status = 0;
    bool gone = false;

    procid_signal_session(getpid(), SIGTERM);
    for (time_t end = time(NULL) + KILL_WAIT_S; !gone && time(NULL) < end;) {
        gone = waitpid(script, &status, WNOHANG) == script;
        if (!gone)
            wait_signal(k, 0, POLL_NS);
    }
    procid_signal_session(getpid(), SIGKILL);
    if (!gone)
        waitpid(script, &status, 0);
    return status;
}

/* Wait for the script's end; false when it was ended (and noted) before its time. */
static bool watch_script(struct keeper *k, pid_t script, int *status)
{
    time_t start = time(NULL), limit = 60 * (time_t)k->job->options.time_min;
    bool warned = limit == 0 || k->job->signal_s == 0;

    while (waitpid(script, status, WNOHANG) == 0) {
        if (wait_signal(k, 1, 0) == SIGTERM) {
            end_job(k, "CANCELLED", "", stop_script(k, script));
            return false;
        }
        if (!warned && time(NULL) >= start + limit - k->job->signal_s) {
            kill(script, SIGUSR1);
            warned = true;
        }
        if (limit && time(NULL) >= start + limit) {
            end_job(k, "TIMEOUT", "TimeLimit", stop_script(k, script));
            return false;
        }
    }
    procid_signal_session(getpid(), SIGKILL); /* what the script left behind */
    return true;
}

/* A script that stopped with a checkpoint (JOB_EXIT_AGAIN) starts again at once, as Slurm's requeued
 * jobs do. */
static void keep(struct keeper *k)
{
    struct job_state *s = &k->record.state;
    int status = 0;
    bool again;

    if (!wait_turn(k)) {
        end_job(k, "CANCELLED", "", 0);
        return;
    }
    strcpy(s->state, "RUNNING");
    s->reason[0] = 0;
    do {
        s->started = time(NULL);
        keep_record(k);
        pid_t script = fork();
        if (script == 0)
            run_script(k);
        if (script < 0) {
            end_job(k, "FAILED", strerror(errno), 0);
            return;
        }
        if (!watch_script(k, script, &status))
            return;
        again = WIFEXITED(status) && WEXITSTATUS(status) == JOB_EXIT_AGAIN &&
                s->restarts < k->job->requeues;
        s->restarts += again;
    } while (again);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        end_job(k, "COMPLETED", "", status);
    else
        end_job(k, "FAILED", WIFSIGNALED(status) ? "RaisedSignal" : "NonZeroExitCode", status);
}

static bool has_record(const struct keeper *k)
{
    char path[PATH_MAX];
    struct err e;

    return record_path(k->dir, k->record.state.id, path, &e) == 0 && access(path, F_OK) == 0;
}

/* In the second child, which unetctl does not wait for. Has nothing open of unetctl's. */
static void become_keeper(struct keeper *k, int channel)
{
    char go;
    pid_t self;
    int null = open("/dev/null", O_RDWR);

    self = setsid() < 0 ? -1 : getpid();
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (dup2(channel, STDERR_FILENO + 1) < 0)
        _exit(1);
    closefrom(STDERR_FILENO + 2);
    channel = STDERR_FILENO + 1;
    sigemptyset(&k->signals);
    sigaddset(&k->signals, SIGTERM);
    sigaddset(&k->signals, SIGCHLD);
    sigprocmask(SIG_SETMASK, &k->signals, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    /* unetctl writes the first record, and with it there is a job, even if unetctl was killed before
     * it could say so. */
    if (self < 0 || write(channel, &self, sizeof self) != sizeof self ||
        (read(channel, &go, 1) != 1 && !has_record(k)) || procid_get(self, &k->record.keeper) < 0)
        _exit(1);
    close(channel);
    keep(k);
    _exit(0);
}

/* Start a keeper that waits for a byte on *channel; its pid. */
static pid_t start_keeper(struct keeper *k, int *channel, struct err *e)
{
    int pair[2];
    pid_t keeper = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_SCHED, errno, "can't start a job");
    fflush(NULL);
    pid_t middle = fork();
    if (middle == 0) {
        pid_t child = fork();
        if (child == 0)
            become_keeper(k, pair[1]);
        _exit(child < 0);
    }
    close(pair[1]);
    if (middle > 0)
        while (waitpid(middle, NULL, 0) < 0 && errno == EINTR)
            ;
    if (middle < 0 || read(pair[0], &keeper, sizeof keeper) != sizeof keeper) {
        close(pair[0]);
        return err_set(e, ERR_SCHED, "can't start a job: this machine gives no more processes");
    }
    *channel = pair[0];
    return keeper;
}

/* ---- the scheduler ---- */

static int local_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                           struct err *e)
{
    (void)s, (void)name, (void)e;
    *p = (struct scheduler_partition){.nodes = 1};
    strcpy(p->name, "local");
    p->cpus_per_node = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return 0;
}

static int local_check(struct scheduler *s, const struct job *job, struct scheduler_forecast *forecast,
                       struct err *e)
{
    (void)s;
    forecast->start = 0; /* when those before it have ended */
    if (job->script && access(job->script, R_OK) < 0)
        return err_errno(e, ERR_SCHED, errno, "can't read %s", job->script);
    const char *list = job->options.dependency;
    if (list && list[strspn(list, "afterny:,0123456789")] != 0)
        return err_set(e, ERR_SCHED, "--dependency=%s: the local queue knows afterany:ID only", list);
    return 0;
}

/* Records of jobs that ended long ago. */
static void forget_old(const char *dir)
{
    char text[SCHEDULER_ID_SIZE], path[PATH_MAX];
    unsigned long *ids;
    struct record r;
    struct err e;
    size_t n;

    if (list_records(dir, &ids, &n, &e) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%lu", ids[i]);
        if (record_read(dir, text, &r, &e) == 0 && r.state.ended &&
            r.state.ended < time(NULL) - KEEP_S && record_path(dir, text, path, &e) == 0)
            unlink(path);
    }
    free(ids);
}

/* The next number, never given twice: STATE/last has the one before. */
static int next_id(const char *dir, char id[SCHEDULER_ID_SIZE], struct err *e)
{
    char path[PATH_MAX], text[24] = "";
    int rc = -1;

    if (snprintf(path, sizeof path, "%s/last", dir) >= (int)sizeof path)
        return err_set(e, ERR_INTERNAL, "the path %s is too long", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || flock(fd, LOCK_EX) < 0 || pread(fd, text, sizeof text - 1, 0) < 0) {
        err_errno(e, ERR_SCHED, errno, "can't number a job in %s", path);
    } else {
        snprintf(id, SCHEDULER_ID_SIZE, "%lu", strtoul(text, NULL, 10) + 1);
        if (pwrite(fd, id, strlen(id), 0) != (ssize_t)strlen(id) || fsync(fd) < 0)
            err_errno(e, ERR_SCHED, errno, "can't number a job in %s", path);
        else
            rc = 0;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Nobody keeps the job: it never was. */
static int withdraw(const char *dir, const char *id, struct err *e)
{
    char path[PATH_MAX];

    if (record_path(dir, id, path, e) == 0)
        unlink(path);
    return err_set(e, ERR_SCHED, "the keeper of job %s died at once", id);
}

static int submit_job(struct scheduler *s, const struct job *job, char id[SCHEDULER_ID_SIZE],
                      struct err *e)
{
    const struct local *local = s->priv;
    struct keeper k = {.dir = local->dir, .job = job, .max_in_flight = local->max_in_flight};
    struct job_state *state = &k.record.state;
    int channel = -1, rc = -1;

    struct scheduler_forecast ignored;
    if (local_check(s, job, &ignored, e) < 0 || next_id(local->dir, id, e) < 0)
        return -1;
    forget_old(local->dir);
    snprintf(state->id, sizeof state->id, "%s", id);
    snprintf(state->tag, sizeof state->tag, "%s", job->tag);
    snprintf(state->name, sizeof state->name, "%s", job->name);
    strcpy(state->state, "PENDING");
    strcpy(state->reason, "Resources");
    state->submitted = time(NULL);
    pid_t keeper = start_keeper(&k, &channel, e);
    if (keeper < 0)
        return -1;
    if (procid_get(keeper, &k.record.keeper) < 0)
        err_set(e, ERR_SCHED, "the keeper of job %s died at once", id);
    else if (record_write(local->dir, &k.record, e) == 0)
        rc = 0;
    if (rc == 0 && send(channel, "g", 1, MSG_NOSIGNAL) != 1)
        rc = withdraw(local->dir, id, e);
    close(channel);
    return rc;
}

static void local_submit(struct scheduler *s, const struct job *jobs, size_t count,
                         const char *in_flight, const struct scheduler_feed *feed,
                         struct scheduler_result *results)
{
    (void)in_flight; /* a job is there as soon as its record is */
    for (size_t i = 0; i < count; i++) {
        struct scheduler_result *r = &results[i];
        if (feed && feed->ready(feed->arg, i, &r->reason)) {
            r->outcome = SCHEDULER_REFUSED;
            return;
        }
        if (submit_job(s, &jobs[i], r->id, &r->reason)) {
            r->outcome = r->reason.code == ERR_INTERNAL ? SCHEDULER_LOST : SCHEDULER_REFUSED;
            return;
        }
        r->outcome = SCHEDULER_SUBMITTED;
    }
}

static int local_query(struct scheduler *s, const char *tag_prefix, struct job_state **states,
                       size_t *nstates, struct err *e)
{
    const struct local *local = s->priv;
    char text[SCHEDULER_ID_SIZE];
    unsigned long *ids;
    struct record r;
    size_t n;

    if (list_records(local->dir, &ids, &n, e) < 0)
        return -1;
    *states = n ? calloc(n, sizeof **states) : NULL;
    if (n && !*states) {
        free(ids);
        return err_set(e, ERR_INTERNAL, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%lu", ids[i]);
        if (record_read(local->dir, text, &r, e) < 0) {
            free(ids);
            free(*states);
            *states = NULL;
            *nstates = 0;
            return -1;
        }
        if (strncmp(r.state.tag, tag_prefix, strlen(tag_prefix)) != 0)
            continue;
        judge(&r);
        (*states)[(*nstates)++] = r.state;
    }
    free(ids);
    if (*nstates == 0) {
        free(*states);
        *states = NULL;
    }
    return 0;
}

static int local_cancel(struct scheduler *s, const char *id, struct err *e)
{
    const struct local *local = s->priv;
    char path[PATH_MAX];
    struct record r;

    if (id[strspn(id, "0123456789")] != 0 || record_path(local->dir, id, path, e) < 0)
        return err_set(e, ERR_SCHED, "'%s' is not the id of a local job", id);
    if (access(path, F_OK) < 0)
        return 0;
    if (record_read(local->dir, id, &r, e) < 0)
        return -1;
    if (r.state.ended)
        return 0;
    if (procid_is_alive(&r.keeper))
        kill(r.keeper.pid, SIGTERM);
    else if (has_orphans(&r))
        procid_signal_session(r.keeper.pid, SIGKILL);
    return 0;
}

static void local_close(struct scheduler *s)
{
    free(s->priv);
}

struct scheduler *scheduler_local_open(const struct scheduler_config *config, struct err *e)
{
    static const struct scheduler_ops ops = {"local",      local_partition, local_check, local_submit,
                                             local_query,  local_cancel,    local_close, NULL,
                                             NULL};
    struct local *local = calloc(1, sizeof *local);
    int rc = 0;

    if (!local) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    local->scheduler = (struct scheduler){.ops = &ops, .priv = local};
    local->max_in_flight = config->max_in_flight > 0 ? config->max_in_flight : 1;
    if (!config->state_dir)
        rc = statedir_path("local", local->dir, e);
    else if (snprintf(local->dir, sizeof local->dir, "%s", config->state_dir) >= (int)sizeof local->dir)
        rc = err_set(e, ERR_CONFIG, "the path %s is too long", config->state_dir);
    if (rc < 0 || statedir_make(local->dir, e) < 0) {
        free(local);
        return NULL;
    }
    return &local->scheduler;
}
