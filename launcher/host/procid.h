/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that stays the same one: a pid alone may have been given to a stranger since. */
#ifndef UNETCTL_LAUNCHER_HOST_PROCID_H
#define UNETCTL_LAUNCHER_HOST_PROCID_H

#include <stdbool.h>
#include <sys/types.h>

struct procid {
    pid_t pid;
    unsigned long long start; /* clock ticks since boot */
    char boot[40];            /* /proc/sys/kernel/random/boot_id */
};

/* Of a process that runs now. 0, or -1 when there is none. */
int procid_get(pid_t pid, struct procid *dst);

/* Does the very same process still run? A zombie does not. */
bool procid_is_alive(const struct procid *id);

/* Was the process seen since this machine's last start? */
bool procid_is_boot(const struct procid *id);

/* Send a signal (0: none) to every process of a session but this one; how many there are. */
int procid_signal_session(pid_t session, int signal);

#endif
