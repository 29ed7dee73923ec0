/* SPDX-License-Identifier: BSD-3-Clause */
/* Kills a program at a chosen system call, for tests of what survives that.
 *
 *   killat [-e] [-p NAME] [-a | -s | -c COMMAND] [-l FILE] [-f FILE] N PROGRAM [ARGUMENT...]
 *
 * Runs PROGRAM and counts the system calls that it begins, or with -p those of all processes of it
 * that are called NAME (as in /proc/PID/comm); with -e only those that have an effect outside of
 * the process: files, connections, locks, other processes. A kill at any other call leaves what one
 * at the next of these leaves. At the N-th, before it is carried out, the process that makes it
 * gets SIGKILL; with -a PROGRAM does and all that it has started; with -s it stays there until it
 * is killed or PROGRAM ends; with -c none does, and the shell COMMAND runs while the process waits
 * there. With N 0 nothing happens but counting. Ends with PROGRAM and with its exit code (128 +
 * signal); children that continue do so untraced. -l writes the count and the number of the system
 * call killed at (-1: none) into a file. -f writes the paths of files that PROGRAM, and all that it
 * starts, opens, makes, moves, removes or examines, one a line and as often as it does, into a
 * file. 255: PROGRAM cannot be run or traced. */
#include "src/base.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define MAX_PROCESSES 4096

static struct process {
    pid_t pid;
    bool alive;
} processes[MAX_PROCESSES];
static size_t nprocesses;

static const char *only, *list, *command;
static FILE *paths;
static bool all, stops, effects;
static pid_t stopped;
static long at, count, killed_at = -1;

static struct process *find(pid_t pid)
{
    for (size_t i = 0; i < nprocesses; i++)
        if (processes[i].pid == pid && processes[i].alive)
            return &processes[i];
    if (nprocesses == MAX_PROCESSES) {
        fprintf(stderr, "killat: too many processes\n");
        _exit(255);
    }
    processes[nprocesses] = (struct process){.pid = pid, .alive = true};
    return &processes[nprocesses++];
}

static bool is_meant(pid_t pid, pid_t program)
{
    char path[64], name[64] = "";

    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)program, (int)pid);
    if (!only)
        return pid == program || access(path, F_OK) == 0; /* a thread of it */
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fgets(name, sizeof name, f))
        name[strcspn(name, "\n")] = 0;
    if (f)
        fclose(f);
    return strcmp(name, only) == 0;
}

/* Calls with an effect outside of the process, except those that open files (see has_effect). An
 * architecture without the older ones, such as rename, has only their ...at forms. */
static const long effective[] = {
    SYS_write,     SYS_writev,    SYS_pwrite64, SYS_pwritev,   SYS_sendto,     SYS_sendmsg,
    SYS_sendmmsg,  SYS_connect,   SYS_bind,     SYS_listen,    SYS_shutdown,   SYS_renameat,
    SYS_renameat2, SYS_unlinkat,  SYS_mkdirat,  SYS_linkat,    SYS_symlinkat,  SYS_truncate,
    SYS_ftruncate, SYS_fallocate, SYS_fsync,    SYS_fdatasync, SYS_sync,       SYS_syncfs,
    SYS_flock,     SYS_fcntl,     SYS_fchmod,   SYS_fchmodat,  SYS_utimensat,  SYS_clone,
    SYS_clone3,    SYS_execve,    SYS_kill,     SYS_tgkill,    SYS_exit_group,
#ifdef SYS_rename
    SYS_rename,    SYS_unlink,    SYS_mkdir,    SYS_rmdir,     SYS_link,       SYS_symlink,
    SYS_chmod,     SYS_fork,      SYS_vfork,
#endif
};

static bool has_effect(const struct __ptrace_syscall_info *info)
{
    long number = (long)info->entry.nr;

#ifdef SYS_open
    if (number == SYS_open)
        return info->entry.args[1] & (O_CREAT | O_TRUNC);
#endif
    if (number == SYS_openat)
        return info->entry.args[2] & (O_CREAT | O_TRUNC);
    for (size_t i = 0; i < sizeof effective / sizeof *effective; i++)
        if (effective[i] == number)
            return true;
    return false;
}

/* Calls with a path: the numbers of two arguments, the folder it is relative to, or -1, and it. */
static const struct path_call {
    long number;
    int folder, path;
} path_calls[] = {
    {SYS_openat, 0, 1},     {SYS_unlinkat, 0, 1},  {SYS_mkdirat, 0, 1},   {SYS_renameat, 0, 1},
    {SYS_renameat, 2, 3},   {SYS_renameat2, 0, 1}, {SYS_renameat2, 2, 3}, {SYS_linkat, 0, 1},
    {SYS_linkat, 2, 3},     {SYS_symlinkat, 1, 2}, {SYS_newfstatat, 0, 1}, {SYS_faccessat, 0, 1},
    {SYS_faccessat2, 0, 1}, {SYS_statx, 0, 1},     {SYS_truncate, -1, 0}, {SYS_chdir, -1, 0},
#ifdef SYS_open
    {SYS_open, -1, 0},      {SYS_unlink, -1, 0},   {SYS_mkdir, -1, 0},    {SYS_rename, -1, 0},
    {SYS_rename, -1, 1},    {SYS_rmdir, -1, 0},    {SYS_link, -1, 0},     {SYS_link, -1, 1},
    {SYS_symlink, -1, 1},   {SYS_stat, -1, 0},     {SYS_lstat, -1, 0},    {SYS_access, -1, 0},
    {SYS_creat, -1, 0},
#endif
};

static bool read_text(pid_t pid, unsigned long address, char dst[PATH_MAX])
{
    size_t n = 0;

    while (n < PATH_MAX) {
        size_t most = 4096 - (address + n) % 4096; /* the next page may not be there */
        struct iovec to = {dst + n, most < PATH_MAX - n ? most : PATH_MAX - n};
        struct iovec from = {(void *)(address + n), to.iov_len}; /* in the process */
        ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
        if (got <= 0)
            return false;
        if (memchr(dst + n, 0, (size_t)got))
            return true;
        n += (size_t)got;
    }
    return false;
}

static void note_paths(pid_t pid, const struct __ptrace_syscall_info *info)
{
    char text[PATH_MAX], link[64], folder[PATH_MAX];

    for (size_t i = 0; i < sizeof path_calls / sizeof *path_calls; i++) {
        const struct path_call *c = &path_calls[i];
        if ((long)info->entry.nr != c->number ||
            !read_text(pid, (unsigned long)info->entry.args[c->path], text) || !*text)
            continue;
        int fd = c->folder < 0 ? AT_FDCWD : (int)info->entry.args[c->folder];
        snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", (int)pid,
                 fd);
        ssize_t n = *text == '/' ? 0 : readlink(link, folder, sizeof folder - 1);
        if (n >= 0)
            fprintf(paths, "%.*s%s%s\n", (int)n, folder, n ? "/" : "", text);
    }
}

static void strike(pid_t pid, long number)
{
    killed_at = number;
    if (stops) {
        stopped = pid;
        return;
    }
    if (command) {
        if (system(command) != 0)
            fprintf(stderr, "killat: failed: %s\n", command);
        return;
    }
    for (size_t i = 0; i < nprocesses; i++)
        if (processes[i].alive && (all || processes[i].pid == pid))
            kill(processes[i].pid, SIGKILL);
}

/* Handles a stop of a traced process. Returns the signal that the process gets when it continues,
 * or 0. */
static int handle_stop(pid_t pid, int status, pid_t program)
{
    struct __ptrace_syscall_info info = {0};

    if (status >> 16)
        return 0; /* a new child, an exec, the first stop of a child */
    if (WSTOPSIG(status) != (SIGTRAP | 0x80))
        return WSTOPSIG(status);
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return 0;
    if (paths)
        note_paths(pid, &info);
    if (is_meant(pid, program) && (!effects || has_effect(&info)) && ++count == at)
        strike(pid, (long)info.entry.nr);
    return 0;
}

static int trace(pid_t program)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (pid <= 0)
            continue;
        struct process *p = find(pid);
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            p->alive = false;
            if (pid == program)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = handle_stop(pid, status, program);
        if (pid != stopped)
            ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal);
    }
    return 255;
}

/* Runs in the child: once the parent traces it, executes the program. */
static void become(char **argv, int go)
{
    char byte;

    if (read(go, &byte, 1) == 1)
        execvp(argv[0], argv);
    fprintf(stderr, "killat: %s: %s\n", argv[0], strerror(errno));
    _exit(255);
}

/* Traces the process with PTRACE_SEIZE, which sends no SIGSTOP: if killat ends first, no process is
 * left with one pending. */
static int seize(pid_t pid)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    int status;

    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) || ptrace(PTRACE_INTERRUPT, pid, NULL,
                                                                   NULL) ||
        waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL)) {
        fprintf(stderr, "killat: cannot trace: %s\n", strerror(errno));
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int option, result, channel[2];

    while ((option = getopt(argc, argv, "+ep:asc:l:f:")) != -1) {
        if (option == 'p')
            only = optarg;
        else if (option == 'l')
            list = optarg;
        else if (option == 'f' && !paths)
            paths = fopen(optarg, "we");
        else if (option == 'c')
            command = optarg;
        else if (option == 'a')
            all = true;
        else if (option == 's')
            stops = true;
        else if (option == 'e')
            effects = true;
        else
            return 255;
    }
    if (argc - optind < 2) {
        fprintf(stderr, "usage: killat [-e] [-p NAME] [-a | -s | -c COMMAND] [-l FILE] [-f FILE] N "
                        "PROGRAM [ARGUMENT...]\n");
        return 255;
    }
    at = atol(argv[optind]);
    if (pipe2(channel, O_CLOEXEC))
        return 255;
    pid_t program = fork();
    if (program == 0)
        become(argv + optind + 1, channel[0]);
    if (program < 0)
        return 255;
    find(program);
    if (seize(program) || write(channel[1], "g", 1) != 1) {
        kill(program, SIGKILL);
        return 255;
    }
    result = trace(program);
    if (paths && fclose(paths))
        return 255;
    FILE *f = list ? fopen(list, "w") : NULL;
    if (f) {
        fprintf(f, "%ld %ld\n", count, killed_at);
        fclose(f);
    }
    return result;
}
