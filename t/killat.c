/* SPDX-License-Identifier: BSD-3-Clause */
/* Kills a program at a chosen system call, for tests of what survives that.
 *
 *   killat [-e] [-p NAME] [-a | -c COMMAND] [-l FILE] N PROGRAM [ARGUMENT...]
 *
 * Runs PROGRAM and counts the system calls that it begins, or with -p those of all processes of it
 * that are called NAME (as in /proc/PID/comm); with -e only those that have an effect outside of
 * the process: files, connections, locks, other processes. A kill at any other call leaves what one
 * at the next of these leaves. At the N-th, before it is carried out, the process that makes it
 * gets SIGKILL; with -a PROGRAM does and all that it has started; with -c none does, and the shell
 * COMMAND runs while the process waits there. With N 0 nothing happens but counting. Ends with
 * PROGRAM and with its exit code (128 + signal); children that continue do so untraced. -l writes
 * the count and the number of the system call killed at (-1: none) into a file. 255: PROGRAM cannot
 * be run or traced. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 4096

static struct process {
    pid_t pid;
    bool alive;
} processes[MAX_PROCESSES];
static size_t nprocesses;

static const char *only, *list, *command;
static bool all, effects;
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

static void strike(pid_t pid, long number)
{
    killed_at = number;
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
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) > 0 &&
        info.op == PTRACE_SYSCALL_INFO_ENTRY && is_meant(pid, program) &&
        (!effects || has_effect(&info)) && ++count == at)
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
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)handle_stop(pid, status, program));
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

    while ((option = getopt(argc, argv, "+ep:ac:l:")) != -1) {
        if (option == 'p')
            only = optarg;
        else if (option == 'l')
            list = optarg;
        else if (option == 'c')
            command = optarg;
        else if (option == 'a')
            all = true;
        else if (option == 'e')
            effects = true;
        else
            return 255;
    }
    if (argc - optind < 2) {
        fprintf(stderr, "usage: killat [-e] [-p NAME] [-a | -c COMMAND] [-l FILE] N "
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
    FILE *f = list ? fopen(list, "w") : NULL;
    if (f) {
        fprintf(f, "%ld %ld\n", count, killed_at);
        fclose(f);
    }
    return result;
}
