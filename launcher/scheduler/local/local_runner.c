/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/local/local.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "src/clock.h"
#include "src/files.h"
#include "src/run/marker.h"

#define KILL_WAIT_S 10 /* seconds from TERM to KILL, at most, like Slurm's KillWait */
#define LOCK_S 60      /* how long another submission may take numbers */
#define KEEP_S (30 * 24 * 3600) /* seconds for which records of ended jobs are kept */
#define CANCEL SIGRTMIN         /* cancels the job whose number it carries; TERM cancels all */

struct local_job {
    const char *dir; /* of the queue */
    const struct job *job;
    struct local_record record;
    pid_t script;       /* 0: it was not started */
    double started;     /* this and kill_at by clock_now */
    double kill_at;     /* when a script that is stopped gets KILL; 0: it is not stopped */
    enum state stopped; /* what a script that is stopped ends as */
    bool warned;        /* of the time limit */
    bool unwritten;     /* the record lacks its end, as where the disk is full */
};

struct runner {
    const char *dir;
    int max_in_flight;
    struct local_job *jobs;
    size_t count;
    unsigned long *ids; /* ascending; of all jobs at the submission, 0 where one has ended */
    size_t nids;
    sigset_t signals; /* which are waited for */
};

/* ---- the queue ---- */

/* Takes a number for each job. The file "last" in dir holds the last one taken, so that none is
 * used twice, even after its record was removed. Returns its descriptor, whose lock keeps others
 * from queueing jobs behind numbers that have no records yet, or -1. */
static int take_numbers(const struct runner *r, unsigned long *first, struct err *e)
{
    char path[PATH_MAX], text[24] = "";

    if (snprintf(path, sizeof path, "%s/last", r->dir) >= (int)sizeof path)
        return err_set(e, ERR_SCHED, "the path %s is too long", r->dir);
    int fd = lockfile_open(path, false, e);
    if (fd < 0)
        return -1;
    if (lockfile_take(fd, path, "another unetctl that submits", LOCK_S, e) == 0) {
        ssize_t n = pread(fd, text, sizeof text - 1, 0);
        *first = strtoul(text, NULL, 10) + 1;
        snprintf(text, sizeof text, "%lu", *first + (unsigned long)r->count - 1);
        if (n >= 0 && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text) && fsync(fd) == 0)
            return fd;
        err_errno(e, ERR_SCHED, errno, "cannot number a job in %s", path);
    }
    close(fd);
    return -1;
}

static int write_first(struct local_job *j, unsigned long id, struct err *e)
{
    struct job_state *s = &j->record.state;
    char path[PATH_MAX];
    struct err ignored;

    snprintf(s->id, sizeof s->id, "%lu", id);
    snprintf(s->tag, sizeof s->tag, "%s", j->job->tag);
    snprintf(s->name, sizeof s->name, "%s", j->job->name);
    job_state_set(s, STATE_PENDING);
    strcpy(s->reason, "waits for earlier jobs of the local queue");
    s->submitted = time(NULL);
    if (local_record_write(j->dir, &j->record, e) == 0)
        return 0;
    if (local_record_path(j->dir, s->id, path, &ignored) == 0)
        unlink(path);
    return -1;
}

/* Writes the first record of each job, and its result to the caller. After a refusal count is the
 * number of jobs before it. */
static void queue_jobs(struct runner *r, const struct job *jobs, int caller)
{
    struct scheduler_result result = {.outcome = SCHEDULER_SUBMITTED};
    unsigned long first = 0;
    struct procid self;
    int fd = -1;

    r->jobs = calloc(r->count, sizeof *r->jobs);
    if (!r->jobs || procid_get(getpid(), &self) < 0)
        err_set(&result.reason, ERR_SCHED, "cannot start a job: no memory, or no /proc");
    else
        fd = take_numbers(r, &first, &result.reason);
    if (fd < 0)
        result.outcome = SCHEDULER_REFUSED;
    for (size_t i = 0; i < r->count; i++) {
        if (fd >= 0) {
            r->jobs[i] = (struct local_job){
                .dir = r->dir, .job = &jobs[i], .record.runner = self};
            gethostname(r->jobs[i].record.host, sizeof r->jobs[i].record.host - 1);
            if (write_first(&r->jobs[i], first + i, &result.reason))
                result.outcome = SCHEDULER_REFUSED;
            snprintf(result.id, sizeof result.id, "%s", r->jobs[i].record.state.id);
        }
        if (result.outcome == SCHEDULER_REFUSED)
            r->count = i;
        /* A caller that was killed reads nothing. */
        if (write(caller, &result, sizeof result) < 0 && errno != EPIPE)
            _exit(1);
    }
    if (fd >= 0)
        close(fd);
}

/* Returns whether the job is pending or running on this host. Removes its record if it ended long
 * ago. */
static bool is_active(const struct runner *r, unsigned long id)
{
    char text[SCHEDULER_ID_SIZE], path[PATH_MAX];
    struct local_record record;
    struct err e;

    snprintf(text, sizeof text, "%lu", id);
    if (id == 0 || local_record_read(r->dir, text, &record, &e) < 0)
        return false;
    local_record_judge(r->dir, &record);
    if (record.state.ended && clock_age(record.state.ended) > KEEP_S &&
        local_record_path(r->dir, text, path, &e) == 0)
        unlink(path);
    return record.state.phase != PHASE_ENDED && record.state.state != STATE_UNKNOWN;
}

/* Returns whether max_in_flight jobs before this one are pending or running. */
static bool is_full(struct runner *r, const struct local_job *j)
{
    unsigned long own = strtoul(j->record.state.id, NULL, 10);
    struct err e;
    int active = 0;

    if (!r->ids && local_record_list(r->dir, &r->ids, &r->nids, &e) < 0)
        return true;
    for (size_t i = 0; i < r->nids && r->ids[i] < own && active < r->max_in_flight; i++)
        if (is_active(r, r->ids[i]))
            active++;
        else
            r->ids[i] = 0;
    return active >= r->max_in_flight;
}

/* Returns whether any job that this one depends on ("afterany:1:2,afterany:7") is pending or
 * running. */
static bool must_wait(const struct runner *r, const struct local_job *j)
{
    const char *list = j->job->options.dependency;
    char *end;

    for (; list && *(list += strcspn(list, "0123456789")); list = end)
        if (is_active(r, strtoul(list, &end, 10)))
            return true;
    return false;
}

/* ---- a job ---- */

static void end_job(struct local_job *j, enum state state, const char *reason, int status)
{
    struct job_state *s = &j->record.state;
    struct err e;

    job_state_set(s, state);
    snprintf(s->reason, sizeof s->reason, "%.*s", (int)sizeof s->reason - 1, reason);
    s->ended = time(NULL);
    s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    s->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    j->unwritten = local_record_write(j->dir, &j->record, &e) < 0;
}

/* Returns the path of the output with "%j" replaced by the job's id and "%%" by a percent sign,
 * as in Slurm. */
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

/* Runs in the child, which ends with its runner until the record says that it runs: no script may
 * run of which the records do not say so. */
static void enter_job(void *arg, char *const argv[])
{
    struct local_job *j = arg;
    sigset_t none;
    struct err e;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != j->record.runner.pid || setsid() < 0 ||
        procid_get(getpid(), &j->record.script) < 0)
        _exit(126);
    if (local_record_write(j->dir, &j->record, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        _exit(126);
    }
    prctl(PR_SET_PDEATHSIG, 0);
    jobenv_clean();
    setenv("UNETCTL_JOB_ID", j->record.state.id, 1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(j->job->work_dir) == 0)
        return;
    fprintf(stderr, "%s: %s\n", j->job->work_dir, strerror(errno));
    _exit(126);
}

static void start_job(struct local_job *j)
{
    const char *const words[] = {"bash", j->job->script, NULL};
    struct job_state *s = &j->record.state;
    char *output = output_path(j->job, s->id);
    int fd = output ? files_open(output, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    struct child c = {.argv = words, .out = fd, .err = fd, .enter = enter_job, .arg = j};
    struct err e;

    job_state_set(s, STATE_RUNNING);
    s->reason[0] = 0;
    s->started = time(NULL);
    j->started = clock_now();
    j->warned = false;
    j->script = fd < 0 ? files_error(&e, ERR_SCHED, errno, "cannot write", output ? output : "")
                       : child_start(&c, &e);
    if (j->script < 0)
        end_job(j, STATE_FAILED, e.text, 0);
    if (fd >= 0)
        close(fd);
    free(output);
}

static void stop_job(struct local_job *j, enum state as)
{
    if (!j->script)
        end_job(j, as, "", 0);
    if (!j->script || j->kill_at)
        return;
    j->stopped = as;
    j->kill_at = clock_now() + KILL_WAIT_S;
    procid_signal_session(j->script, SIGTERM);
}

/* Ends what the script has left behind. A script that stopped with a checkpoint (JOB_EXIT_AGAIN) is
 * started again at once, like a requeued job of Slurm, up to job->requeues times. */
static void finish_job(struct local_job *j)
{
    struct job_state *s = &j->record.state;
    int status = 0;

    procid_signal_session(j->script, SIGKILL);
    waitpid(j->script, &status, 0);
    if (j->kill_at) {
        end_job(j, j->stopped, "", status);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == JOB_EXIT_AGAIN &&
               s->restarts < j->job->requeues) {
        s->restarts++;
        start_job(j);
    } else {
        end_job(j, status == 0 ? STATE_COMPLETED : STATE_FAILED, "", status);
    }
}

static void watch_job(struct local_job *j)
{
    double ran = clock_now() - j->started, limit = 60.0 * j->job->options.time_min;
    siginfo_t end = {0};

    waitid(P_PID, (id_t)j->script, &end, WEXITED | WNOHANG | WNOWAIT);
    if (end.si_pid) {
        finish_job(j);
    } else if (j->kill_at) {
        if (clock_now() >= j->kill_at)
            procid_signal_session(j->script, SIGKILL);
    } else if (limit > 0 && ran >= limit) {
        stop_job(j, STATE_TIMEOUT);
    } else if (limit > 0 && j->job->signal_s && !j->warned && ran >= limit - j->job->signal_s) {
        kill(j->script, SIGUSR1);
        j->warned = true;
    }
}

/* ---- the process ---- */

/* Starts jobs whose turn has come, and watches the others. Returns whether any has not ended. */
static bool run_jobs(struct runner *r)
{
    bool full = false, any = false;
    struct err e;

    for (size_t i = 0; i < r->count; i++) {
        struct local_job *j = &r->jobs[i];
        if (j->script && !j->record.state.ended)
            watch_job(j);
        else if (!j->record.state.ended && !full && !(full = is_full(r, j)) && !must_wait(r, j))
            start_job(j);
        else if (j->unwritten)
            j->unwritten = local_record_write(j->dir, &j->record, &e) < 0;
        any |= !j->record.state.ended || j->unwritten;
    }
    return any;
}

/* Waits a second at most for a signal, and cancels the job that it names. */
static void wait_signal(const struct runner *r)
{
    const struct timespec second = {.tv_sec = 1};
    siginfo_t info;
    int signal = sigtimedwait(&r->signals, &info, &second);

    for (size_t i = 0; i < r->count && (signal == CANCEL || signal == SIGTERM); i++) {
        struct local_job *j = &r->jobs[i];
        unsigned long id = strtoul(j->record.state.id, NULL, 10);
        if (!j->record.state.ended &&
            (signal == SIGTERM || id == (unsigned long)(uintptr_t)info.si_value.sival_ptr))
            stop_job(j, STATE_CANCELLED);
    }
}

/* Runs in the child, which leaves unetctl's session, and its files once the jobs are known. */
static void become_runner(struct runner *r, const struct job *jobs, int caller)
{
    setsid();
    sigemptyset(&r->signals);
    sigaddset(&r->signals, CANCEL);
    sigaddset(&r->signals, SIGTERM);
    sigaddset(&r->signals, SIGCHLD);
    sigaddset(&r->signals, SIGPIPE);
    sigprocmask(SIG_SETMASK, &r->signals, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    queue_jobs(r, jobs, caller);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    closefrom(STDERR_FILENO + 1);
    while (run_jobs(r))
        wait_signal(r);
    _exit(0);
}

void local_runner_start(const char *dir, int max_in_flight, const struct job *jobs, size_t count,
                        struct scheduler_result *results)
{
    struct runner own = {.dir = dir, .max_in_flight = max_in_flight, .count = count};
    struct scheduler_result *r = results;
    pid_t pid = -1;
    ssize_t n = 1;
    int pair[2];

    _Static_assert(sizeof *r <= PIPE_BUF, "a result is written as a whole");
    if (pipe2(pair, O_CLOEXEC) == 0) {
        fflush(NULL);
        pid = fork();
        if (pid == 0)
            become_runner(&own, jobs, pair[1]);
        close(pair[1]);
        while (pid > 0 && r < results + count && n != 0) {
            n = read(pair[0], r, sizeof *r);
            r += n == sizeof *r;
        }
        close(pair[0]);
    }
    if (r < results + count && (r == results || r[-1].outcome == SCHEDULER_SUBMITTED)) {
        r->outcome = pid < 0 ? SCHEDULER_REFUSED : SCHEDULER_LOST;
        err_set(&r->reason, ERR_SCHED, "the process that runs the jobs %s",
                pid < 0 ? "cannot be started: this machine allows no more" : "was killed");
    }
}

int local_runner_cancel(const struct local_record *r, struct err *e)
{
    const union sigval id = {.sival_ptr = (void *)(uintptr_t)strtoul(r->state.id, NULL, 10)};

    return sigqueue(r->runner.pid, CANCEL, id) == 0 || errno == ESRCH
               ? 0
               : err_errno(e, ERR_SCHED, errno, "cannot cancel job %s", r->state.id);
}
