/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/host/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "launcher/host/path.h"
#include "src/clock.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct stat_line {
    char state;
    int session;
    unsigned long long start;
};

/* Reads /proc/PID/stat: "PID (NAME) STATE PPID PGRP SESSION ... STARTTIME". NAME may contain
 * blanks and parentheses. */
static int read_stat(pid_t pid, struct stat_line *dst)
{
    char path[64], text[1024];
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 1, " %c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                        "%*d %*d %*d %llu", &dst->state, &dst->session, &dst->start) != 3)
        return -1;
    return dst->state == 'Z' || dst->state == 'X' ? -1 : 0;
}

int procid_get(pid_t pid, struct procid *dst)
{
    struct stat_line line;

    if (pid <= 0 || read_stat(pid, &line) < 0)
        return -1;
    dst->pid = pid;
    dst->start = line.start;
    path_read_line(BOOT_ID, dst->boot, sizeof dst->boot);
    return 0;
}

bool procid_is_alive(const struct procid *id)
{
    struct procid now;

    return procid_get(id->pid, &now) == 0 && now.start == id->start &&
           strcmp(now.boot, id->boot) == 0;
}

bool procid_is_boot(const struct procid *id)
{
    char boot[sizeof id->boot];

    path_read_line(BOOT_ID, boot, sizeof boot);
    return strcmp(boot, id->boot) == 0;
}

int procid_signal_session(pid_t session, int signal)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    struct stat_line line;
    int n = 0;

    while (proc && (entry = readdir(proc))) {
        pid_t pid = atoi(entry->d_name);
        if (pid <= 0 || pid == getpid() || read_stat(pid, &line) < 0 || line.session != session)
            continue;
        n++;
        if (signal)
            kill(pid, signal);
    }
    if (proc)
        closedir(proc);
    return n;
}

/* ---- a job's environment ---- */

bool jobenv_is_foreign(const char *entry)
{
    size_t n = strcspn(entry, "="), first = strcspn(entry, "_");

    if (text_has_word("SLURM_CONF", entry, n))
        return false;
    return (first < n && text_has_word("SLURM SLURMD SBATCH SRUN PMI PMIX PRTE", entry, first)) ||
           strncmp(entry, "OMPI_COMM_", 10) == 0 || strncmp(entry, "MPI_LOCAL", 9) == 0 ||
           text_has_word("CUDA_VISIBLE_DEVICES TF_CONFIG", entry, n);
}

void jobenv_clean(void)
{
    size_t i = 0;

    while (environ && environ[i]) {
        if (!jobenv_is_foreign(environ[i])) {
            i++;
            continue;
        }
        char *name = strndup(environ[i], strcspn(environ[i], "="));
        if (!name || unsetenv(name) < 0)
            i++;
        free(name);
    }
}

/* ---- children ---- */

#define BLOCK 16384
#define LOOK_S 0.05 /* how often err is searched for a text */

static void set_stream(int from, int to)
{
    int fd = from == CHILD_NULL ? open("/dev/null", O_RDWR | O_CLOEXEC) : from;

    if (from != CHILD_KEEP && fd >= 0)
        dup2(fd, to);
}

bool child_find(const char *program, int mode, char dst[PATH_MAX])
{
    const char *p = getenv("PATH");

    snprintf(dst, PATH_MAX, "%s", program);
    if (strchr(program, '/'))
        return access(dst, mode) == 0 && path_is_file(dst);
    for (size_t n; p && *p; p += n + (p[n] == ':')) {
        n = strcspn(p, ":");
        snprintf(dst, PATH_MAX, "%.*s/%s", (int)n, p, program);
        if (access(dst, mode) == 0 && path_is_file(dst))
            return true;
    }
    return false;
}

/* Runs in the child and does not return: executes the program, or writes errno to report. Without
 * enter the child has this process's memory, and changes nothing in it. */
static void become(const struct child *c, int report)
{
    if (c->group)
        setpgid(0, 0);
    set_stream(c->in, STDIN_FILENO);
    set_stream(c->out, STDOUT_FILENO);
    set_stream(c->err, STDERR_FILENO);
    char *const *environment = c->environment ? c->environment : environ;
    if (c->enter) {
        environ = (char **)environment;
        c->enter(c->arg, (char *const *)c->argv);
        environment = environ;
    }
    execvpe(c->argv[0], (char *const *)c->argv, environment);
    int reason = errno;
    char path[PATH_MAX];
    /* execvp reports EACCES also where a folder of PATH may not be searched */
    if (reason == EACCES && !strchr(c->argv[0], '/') && !child_find(c->argv[0], F_OK, path))
        reason = ENOENT;
    _exit(write(report, &reason, sizeof reason) < 0 ? 126 : 127);
}

static void log_words(const char *const *argv)
{
    struct buf words = {0};

    for (; *argv; argv++)
        buf_addf(&words, " %s", *argv);
    log_debug("starting%s", words.data ? words.data : "");
    buf_destroy(&words);
}

pid_t child_start(const struct child *c, struct err *e)
{
    int ends[2], reason = 0;
    pid_t pid = -1;

    if (log_shows(LOG_DEBUG))
        log_words(c->argv);
    if (pipe2(ends, O_CLOEXEC) == 0) {
        /* fork copies the page tables, so that each start takes the longer the larger the study */
        pid = c->enter ? fork() : vfork();
        if (pid == 0)
            become(c, ends[1]);
        reason = errno;
        close(ends[1]);
        ssize_t n = 0; /* the pipe is closed when the program is executed */
        while (pid > 0 && (n = read(ends[0], &reason, sizeof reason)) < 0 && errno == EINTR)
            ;
        close(ends[0]);
        if (pid > 0 && n <= 0)
            return pid;
        if (pid > 0)
            child_wait(pid);
        errno = reason;
    }
    reason = errno;
    err_errno(e, ERR_INTERNAL, reason, "cannot start %s", c->argv[0]);
    errno = reason;
    return -1;
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return code_of(status);
}

bool child_has_ended(pid_t pid, int *code)
{
    int status = 0;

    if (waitpid(pid, &status, WNOHANG) == 0)
        return false;
    *code = code_of(status);
    return true;
}

/* Appends what can be read from fd until end (0: without a limit), and most bytes at most. Returns
 * whether that is all. */
static bool read_all(int fd, double end, size_t most, struct buf *dst)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    while (!most || dst->length < most) {
        int left_ms = end > 0 ? (int)(1000 * (end - clock_now())) : -1;
        char *room = buf_reserve(dst, BLOCK);
        if (!room || (end > 0 && (left_ms <= 0 || poll(&p, 1, left_ms) == 0)))
            return false;
        ssize_t n = read(fd, room, BLOCK - 1);
        if (n == 0 || (n < 0 && errno != EINTR))
            return true;
        if (n > 0)
            dst->data[dst->length += (size_t)n] = 0;
    }
    return false;
}

/* Returns whether the last block of the file has the text. */
static bool has_text(int file, const char *text)
{
    char block[BLOCK];
    struct stat st;
    off_t most = sizeof block - 1;
    ssize_t n = fstat(file, &st) ? 0
                                 : pread(file, block, (size_t)most,
                                         st.st_size > most ? st.st_size - most : 0);

    block[n > 0 ? n : 0] = 0;
    return strstr(block, text) != NULL;
}

/* Reads the child's out until it ends. Returns false if the child is to be killed. */
static bool read_out(const struct child *c, int pipe, int file, struct child_end *dst)
{
    double end = c->limit_s > 0 ? clock_now() + c->limit_s : 0, now;

    if (!c->until)
        return read_all(pipe, end, c->most, &dst->out);
    while (now = clock_now(), !has_text(file, c->until) && (!end || now < end) &&
                              !dst->out.failed) {
        dst->absent = now;
        if (read_all(pipe, now + LOOK_S, 0, &dst->out))
            return true;
    }
    return false;
}

/* Reads the streams of the child, whose out comes through the pipe and whose err is in the file, if
 * they are not -1. */
static void read_streams(const struct child *c, pid_t pid, int pipe, int file,
                         struct child_end *dst)
{
    dst->is_killed = pipe >= 0 && !read_out(c, pipe, file, dst);
    if (dst->is_killed)
        kill(c->group ? -pid : pid, SIGKILL);
    dst->code = child_wait(pid);
    if (dst->is_killed && c->until)
        read_all(pipe, 0, 0, &dst->out);
    if (file >= 0 && lseek(file, 0, SEEK_SET) == 0)
        read_all(file, 0, c->most, &dst->err);
}

int child_run(const struct child *c, struct child_end *dst, struct err *e)
{
    int ends[2] = {-1, -1}, file = -1, rc = 0;
    struct child inner = *c;

    *dst = (struct child_end){.absent = clock_now()};
    buf_add(&dst->out, "");
    buf_add(&dst->err, "");
    if ((c->out == CHILD_READ && pipe2(ends, O_CLOEXEC)) ||
        (c->err == CHILD_READ && (file = memfd_create("stderr", MFD_CLOEXEC)) < 0))
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot start %s", c->argv[0]);
    inner.out = c->out == CHILD_READ ? ends[1] : c->out;
    inner.err = c->err == CHILD_READ ? file : c->err;
    pid_t pid = rc ? -1 : child_start(&inner, e);
    int reason = errno;
    if (ends[1] >= 0)
        close(ends[1]);
    dst->pid = pid;
    if (pid > 0)
        read_streams(c, pid, ends[0], file, dst);
    if (ends[0] >= 0)
        close(ends[0]);
    if (file >= 0)
        close(file);
    errno = reason;
    if (pid < 0)
        return -1;
    return dst->out.failed || dst->err.failed ? err_set(e, ERR_INTERNAL, "out of memory") : 0;
}

void child_destroy(struct child_end *end)
{
    buf_destroy(&end->out);
    buf_destroy(&end->err);
}

char *child_last_line(char *text)
{
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]);)
        text[--n] = 0;
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}
