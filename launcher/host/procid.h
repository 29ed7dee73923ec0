/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity of a process: a pid alone may be reused. */
#ifndef UNETCTL_LAUNCHER_HOST_PROCID_H
#define UNETCTL_LAUNCHER_HOST_PROCID_H

#include <stdbool.h>
#include <sys/types.h>

struct procid {
    pid_t pid;
    unsigned long long start; /* clock ticks since boot */
    char boot[40];            /* /proc/sys/kernel/random/boot_id */
};

/* Of a running process. 0, or -1 if there is none. */
int procid_get(pid_t pid, struct procid *dst);

/* Does this process still run? A zombie does not. */
bool procid_is_alive(const struct procid *id);

/* Is the process of the present boot of this machine? */
bool procid_is_boot(const struct procid *id);

/* Sends a signal (0: none) to every process of a session except this one; returns their number. */
int procid_signal_session(pid_t session, int signal);

#endif
