/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a process of this machine can have at most. */
#ifndef UNETCTL_TRAINER_CORE_HOST_MEMORY_H
#define UNETCTL_TRAINER_CORE_HOST_MEMORY_H

#include <stddef.h>

struct host_memory {
    size_t nbytes;
    const char *reason; /* what sets this limit, in words */
};

/* The least of the machine's memory, what the control groups of this process (version 1 and 2) and
 * Slurm (--mem) give it, each divided by the number of processes that share it, and what is left of
 * the process's own limits (ulimit -d, -v). root: "", or a folder that holds the proc and sys to
 * be read. */
struct host_memory host_memory_limit(const char *root, int sharers);

#endif
