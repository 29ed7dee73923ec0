/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest amount of memory that this process may use. */
#ifndef UNETCTL_TRAINER_CORE_HOST_MEMORY_H
#define UNETCTL_TRAINER_CORE_HOST_MEMORY_H

#include <stddef.h>

struct host_memory {
    size_t nbytes;
    const char *reason; /* what sets this limit, in words; static */
};

/* Returns the smallest of these: the machine's memory, the limits of this process's control groups
 * (versions 1 and 2) and of its Slurm job (--mem), each divided by `sharers`, the number of
 * processes that share it, and what is unused of this process's own limits (ulimit -d, -v). root:
 * "", or for tests a folder whose proc/self/cgroup and sys/fs/cgroup are read instead. */
struct host_memory host_memory_limit(const char *root, int sharers);

#endif
