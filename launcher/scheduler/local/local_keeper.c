/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/local/local_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/host/jobenv.h"
#include "src/buf.h"
#include "src/clock.h"
#include "src/files.h"

#define KILL_WAIT_S 10     /* seconds from TERM to KILL, at most, like Slurm's KillWait */
#define POLL_NS 200000000L /* how often a keeper examines a script that it stops */

/* A waiting keeper examines the queue when a record changes, and otherwise after this many seconds,
 * twice as many each time, since a keeper that was killed changes none. */
#define LOOK_MIN_S 0.2
#define LOOK_MAX_S 5.0

/* Sleeps for s seconds and ns nanoseconds, or until one of k->signals arrives. Returns that
 * signal, or 0. */
static int wait_signal(const struct local_keeper *k, time_t s, long ns)
{
    struct timespec time = {.tv_sec = s, .tv_nsec = ns};
    int signal = sigtimedwait(&k->signals, NULL, &time);

    return signal > 0 ? signal : 0;
}

static void keep_record(struct local_keeper *k)
{
    struct err e;

    local_record_write(k->dir, &k->record, &e); /* a failure cannot be reported from here */
}

static void end_job(struct local_keeper *k, enum state state, const char *reason, int status)
{
    struct job_state *s = &k->record.state;

    job_state_set(s, state);
    snprintf(s->reason, sizeof s->reason, "%.*s", (int)sizeof s->reason - 1, reason);
    s->ended = time(NULL);
    s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    s->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    keep_record(k);
}

/* Returns whether any job that k->job depends on ("afterany:1:2,afterany:7") is pending or running.
 * A job whose record is missing or damaged counts as ended. */
static bool must_wait(const struct local_keeper *k)
{
    const char *list = k->job->options.dependency;
    char id[SCHEDULER_ID_SIZE];
    struct local_record r;
    struct err e;

    while (list && *(list += strcspn(list, "0123456789"))) {
        size_t n = strspn(list, "0123456789");
        snprintf(id, sizeof id, "%.*s", (int)n, list);
        list += n;
        if (local_record_read(k->dir, id, &r, &e) < 0)
            continue;
        local_record_judge(&r);
        if (r.state.phase != PHASE_ENDED)
            return true;
    }
    return false;
}

/* Lists every number from the lowest that has a record up to, but not including, this job's own.
 * Numbers without a record are included, because a submission may be about to write one. */
static void list_before(struct local_keeper *k)
{
    unsigned long own = strtoul(k->record.state.id, NULL, 10), *ids = NULL;
    struct err e;
    size_t n;

    if (local_record_list(k->dir, &ids, &n, &e) == 0 && n && ids[0] < own)
        k->before = malloc((own - ids[0]) * sizeof *k->before);
    for (unsigned long id = k->before ? ids[0] : own; id < own; id++)
        k->before[k->nbefore++] = id;
    free(ids);
}

/* Returns whether max_in_flight earlier jobs are pending or running. Jobs that have ended are
 * removed from k->before, since hundreds of waiting keepers read the records of their lists again
 * and again. */
static bool is_full(struct local_keeper *k)
{
    char id[SCHEDULER_ID_SIZE];
    struct local_record r;
    struct err e;
    size_t i, kept = 0;
    int active = 0;

    for (i = 0; i < k->nbefore && active < k->max_in_flight; i++) {
        snprintf(id, sizeof id, "%lu", k->before[i]);
        if (local_record_read(k->dir, id, &r, &e) == 0) {
            local_record_judge(&r);
            if (r.state.phase == PHASE_ENDED)
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

/* Waits until a record has changed, the time has passed, or a signal has arrived, and returns that
 * signal or 0. */
static int wait_change(const struct local_keeper *k, int records, int signals, double seconds)
{
    struct pollfd p[] = {{.fd = records, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    char events[4096];

    if (signals < 0)
        return wait_signal(k, 0, POLL_NS);
    poll(p, 2, (int)(1000 * seconds));
    while (records >= 0 && read(records, events, sizeof events) > 0)
        continue;
    return wait_signal(k, 0, 0);
}

static bool wait_turn(struct local_keeper *k)
{
    int records = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), /* without it the time has to pass */
        signals = signalfd(-1, &k->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    double pause = LOOK_MIN_S;
    bool cancelled = false;

    if (records >= 0)
        inotify_add_watch(records, k->dir, IN_MOVED_TO);
    list_before(k);
    while (!cancelled && (must_wait(k) || is_full(k))) {
        cancelled = wait_change(k, records, signals, pause) == SIGTERM;
        pause = pause < LOOK_MAX_S / 2 ? 2 * pause : LOOK_MAX_S;
    }
    free(k->before);
    if (records >= 0)
        close(records);
    if (signals >= 0)
        close(signals);
    return !cancelled;
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

/* Runs in the child. */
static void enter_job(void *arg, char *const argv[])
{
    const struct local_keeper *k = arg;
    sigset_t none;

    jobenv_clean();
    setenv("UNETCTL_JOB_ID", k->record.state.id, 1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(k->job->work_dir) == 0)
        return;
    fprintf(stderr, "%s: %s\n", k->job->work_dir, strerror(errno));
    _exit(126);
}

static pid_t start_script(struct local_keeper *k, struct err *e)
{
    const char *const words[] = {"bash", k->job->script, NULL};
    char *output = output_path(k->job, k->record.state.id);
    int fd = output ? files_open(output, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    struct child c = {.argv = words, .out = fd, .err = fd, .enter = enter_job, .arg = k};
    pid_t script = fd < 0 ? files_error(e, ERR_SCHED, errno, "cannot write", output ? output : "")
                          : child_start(&c, e);

    if (fd >= 0)
        close(fd);
    free(output);
    return script;
}

/* Sends TERM to the job's processes, waits at most KILL_WAIT_S for the script to end, and sends
 * KILL to the processes that remain. Returns the script's wait status. */
static int stop_script(const struct local_keeper *k, pid_t script)
{
    int status = 0;
    bool gone = false;

    procid_signal_session(getpid(), SIGTERM);
    for (double end = clock_now() + KILL_WAIT_S; !gone && clock_now() < end;) {
        gone = waitpid(script, &status, WNOHANG) == script;
        if (!gone)
            wait_signal(k, 0, POLL_NS);
    }
    procid_signal_session(getpid(), SIGKILL);
    if (!gone)
        waitpid(script, &status, 0);
    return status;
}

/* Waits for the end of the script, and sets *status to its wait status. Returns false if the job
 * was cancelled or reached its time limit: the script was then stopped and the job's state
 * recorded. */
static bool watch_script(struct local_keeper *k, pid_t script, int *status)
{
    double start = clock_now(), limit = 60.0 * k->job->options.time_min;
    bool warned = !(limit > 0) || k->job->signal_s == 0;

    while (waitpid(script, status, WNOHANG) == 0) {
        if (wait_signal(k, 1, 0) == SIGTERM) {
            end_job(k, STATE_CANCELLED, "", stop_script(k, script));
            return false;
        }
        if (!warned && clock_now() >= start + limit - k->job->signal_s) {
            kill(script, SIGUSR1);
            warned = true;
        }
        if (limit > 0 && clock_now() >= start + limit) {
            end_job(k, STATE_TIMEOUT, "", stop_script(k, script));
            return false;
        }
    }
    procid_signal_session(getpid(), SIGKILL); /* ends processes that the script left behind */
    return true;
}

/* Runs the job to its end. A script that stopped with a checkpoint (JOB_EXIT_AGAIN) is started
 * again at once, like a requeued job of Slurm, up to job->requeues times. */
static void keep_job(struct local_keeper *k)
{
    struct job_state *s = &k->record.state;
    int status = 0;
    struct err e;
    bool again;

    if (!wait_turn(k)) {
        end_job(k, STATE_CANCELLED, "", 0);
        return;
    }
    job_state_set(s, STATE_RUNNING);
    s->reason[0] = 0;
    do {
        s->started = time(NULL);
        keep_record(k);
        pid_t script = start_script(k, &e);
        if (script < 0) {
            end_job(k, STATE_FAILED, e.text, 0);
            return;
        }
        if (!watch_script(k, script, &status))
            return;
        again = WIFEXITED(status) && WEXITSTATUS(status) == JOB_EXIT_AGAIN &&
                s->restarts < k->job->requeues;
        s->restarts += again;
    } while (again);
    bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    end_job(k, is_good ? STATE_COMPLETED : STATE_FAILED, "", status);
}

static bool has_record(const struct local_keeper *k)
{
    char path[PATH_MAX];
    struct err e;

    return local_record_path(k->dir, k->record.state.id, path, &e) == 0 && access(path, F_OK) == 0;
}

/* Runs in the second child, which is detached from unetctl and closes unetctl's files. */
static void become_keeper(struct local_keeper *k, int channel)
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
    /* The job exists as soon as unetctl has written the first record, even if unetctl is killed
     * before it sends the byte. */
    if (self < 0 || write(channel, &self, sizeof self) != sizeof self ||
        (read(channel, &go, 1) != 1 && !has_record(k)) || procid_get(self, &k->record.keeper) < 0)
        _exit(1);
    close(channel);
    keep_job(k);
    _exit(0);
}

pid_t local_keeper_start(struct local_keeper *k, int *channel, struct err *e)
{
    int pair[2];
    pid_t keeper = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_SCHED, errno, "cannot start a job");
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
        return err_set(e, ERR_SCHED, "cannot start a job: this machine allows no more processes");
    }
    *channel = pair[0];
    return keeper;
}
