/* SPDX-License-Identifier: BSD-3-Clause */
/* This machine and its user: processes here, paths and folders in path.h, JSON documents in
 * jsonio.h.
 *
 * The room stands below all others of the launcher and knows nothing of studies, jobs or Slurm. It
 * holds what has to be right everywhere: a child never inherits what it must not (a job's
 * environment, descriptors), a pid is never taken for another process that got the same number, a
 * path that does not fit never names another file, and a folder has one writer at a time.
 *
 * The data are small values that the caller owns: struct child describes a program to start,
 * struct procid is the identity of a process. Errors are returned, and nothing is printed but what
 * jsonio_print is for.
 *
 * Read child.h and child.c first (identity of processes, the environment of a job, children), then
 * path.h and path.c (parts of the installation, paths, locks, the user's folders), then
 * jsonio.h. */
#pragma once

#include "src/base.h"
#include <sys/types.h>

/* The identity of a process. A pid alone is not enough, since it may be reused. */
struct procid {
    pid_t pid;
    unsigned long long start; /* when it was started, in clock ticks since boot */
    char boot[40];            /* /proc/sys/kernel/random/boot_id */
};

/* Fills dst for a running process. Returns 0, or -1 if no process has this pid, or a zombie. */
int procid_get(pid_t pid, struct procid *dst);

/* Returns whether this process still runs. Zombies do not count. */
bool procid_is_alive(const struct procid *id);

/* Returns whether the process was started since this machine was last booted. */
bool procid_is_boot(const struct procid *id);

/* Sends a signal (0 only counts) to every process of a session except this one. Returns their
 * number. */
int procid_signal_session(pid_t session, int signal);

/* Environment variables that belong to the job in which unetctl was started. They are set by
 * Slurm, PMI, an MPI launcher, or the job's scripts (TF_CONFIG). srun, MPI and TensorFlow would
 * join that job, or use its GPUs, if they saw them. */

/* Returns whether entry ("NAME=VALUE" or "NAME") belongs to a job. SLURM_CONF does not; any SBATCH_
 * or SRUN_ variable counts as a job's, even if the user set it. */
bool jobenv_is_foreign(const char *entry);

/* Removes all such variables from the environment of this process. */
void jobenv_clean(void);

/* Child processes. A program is described by struct child, whose zero members change nothing. */

/* Streams of a child besides descriptors: 0 (CHILD_KEEP) is that of this process. */
enum { CHILD_KEEP = 0, CHILD_NULL = -1, CHILD_READ = -2 /* child_run only */ };

struct child {
    const char *const *argv;  /* NULL-terminated; the program is looked for in PATH */
    char *const *environment; /* NULL: this process's */
    int in, out, err;         /* descriptors or CHILD_...; STDOUT_FILENO as err is out */
    bool group;               /* a process group of its own */
    /* child_run: the program is killed after so long, and only so many bytes of out are read; 0:
     * no limit */
    double limit_s;
    size_t most;
    /* child_run, of a group whose err is CHILD_READ: so is the group when err has this text, and
     * child_run returns when no process has the child's out any longer; NULL: no text */
    const char *until;
    /* If not NULL, called in the child before the program is executed, which it may do itself. If
     * it fails it prints why and exits. */
    void (*enter)(void *arg, char *const argv[]);
    void *arg;
};

struct child_end {
    pid_t pid;
    struct buf out, err; /* what was read, with a NUL */
    int code;            /* the exit code, or 128 + the signal that ended it */
    bool is_killed;      /* by child_run */
    double absent;       /* when err did not have the text yet (clock_now) */
};

/* Returns whether a folder of PATH has the program with these rights (of access), and its path. A
 * program with a slash is a path itself. */
bool child_find(const char *program, int mode, char dst[PATH_MAX]);

/* Starts the program. Returns its process, or -1 with ERR_INTERNAL and errno (ENOENT: there is no
 * such program). Thread-safe if enter is. */
pid_t child_start(const struct child *c, struct err *e);

/* Waits for the end, and returns its code as in struct child_end. */
int child_wait(pid_t pid);

/* Returns whether the child has ended, and then its code. */
bool child_has_ended(pid_t pid, int *code);

/* Runs the program to its end and reads its streams that are CHILD_READ. Returns 0 whatever its
 * code is, or -1 as child_start or if memory ran out. child_destroy in either case. */
int child_run(const struct child *c, struct child_end *dst, struct err *e);
void child_destroy(struct child_end *end);

/* Returns the last line of what a program printed, without blank lines after it, or "". Changes
 * text, into which the result points. */
char *child_last_line(char *text);
