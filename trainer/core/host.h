/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's memory and its libraries. */
#pragma once

#include "src/base.h"

/* The largest amount of memory that this process may use. */

struct host_memory {
    size_t nbytes;
    const char *reason; /* what sets this limit, in words; static */
};

/* Returns the smallest of these: the machine's memory, the limits of this process's control groups
 * (versions 1 and 2) and of its Slurm job (--mem), each divided by `sharers`, the number of
 * processes that share it, and what is unused of this process's own limits (ulimit -d, -v). root:
 * "", or for tests a folder whose proc/self/cgroup and sys/fs/cgroup are read instead. */
struct host_memory host_memory_limit(const char *root, int sharers);

/* cuDNN and NCCL, loaded at run time: from the dynamic linker's search path, or else from the
 * folder of the CUDA that this program was built with. They are never closed. */
#define LIBRARY_NCCL "libnccl.so.2"

/* Opens a library by its name with version. Returns a handle, or NULL with ERR_CONFIG. */
void *library_open(const char *name, struct err *e);

/* Stores the address of the symbol in the function pointer that `function` points to. -1 with
 * ERR_CONFIG if the library, such as an older release, does not have it. */
int library_find(void *library, const char *symbol, void *function, struct err *e);
