/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity of a process. A pid alone is not enough, since it may be reused. */
#ifndef UNETCTL_LAUNCHER_HOST_PROCID_H
#define UNETCTL_LAUNCHER_HOST_PROCID_H

#include <stdbool.h>
#include <sys/types.h>

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

#endif
