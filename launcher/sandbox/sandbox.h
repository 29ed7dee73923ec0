/* SPDX-License-Identifier: BSD-3-Clause */
/* A sandbox: a private, real Slurm of several fake nodes on this machine, all below one folder.
 * Scripts start and stop it; these functions find and enter it. */
#ifndef UNETCTL_LAUNCHER_SANDBOX_SANDBOX_H
#define UNETCTL_LAUNCHER_SANDBOX_SANDBOX_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "src/err.h"

struct sandbox {
    char dir[PATH_MAX];
    char mode[8]; /* "netns" or "flat" */
    bool userns;  /* its namespaces belong to an ordinary user */
    int nodes, gpus_per_node, cpus_per_node;
    bool pmix;    /* srun starts ranks of MPI by itself (--mpi=pmix) */
    bool accounting; /* it has a slurmdbd */
    pid_t holder; /* owner of its namespaces */
    bool inside;  /* this process is in it */
    bool running; /* false: never started, stopped, killed or gone with a reboot */
};

/* Where `sandbox up` puts it without --dir: $UNETCTL_SANDBOX, or
 * $XDG_STATE_HOME/unetctl/sandbox. */
int sandbox_default_dir(char dst[PATH_MAX], struct err *e);

/* Reads the state of the sandbox in dir, which need not run. */
int sandbox_load(const char *dir, struct sandbox *dst, struct err *e);

/* A running sandbox: the one in dir; for NULL the one of this process, the default one, or (without
 * $UNETCTL_SANDBOX) the one started last. ERR_SCHED if none runs. */
int sandbox_find(const char *dir, struct sandbox *dst, struct err *e);

/* ERR_SCHED if sb does not run. */
int sandbox_require(const struct sandbox *sb, struct err *e);

/* The file in which sandbox-up notes the folder of the sandbox started last; its folder is made. */
int sandbox_note_path(char dst[PATH_MAX], struct err *e);

/* Replaces this process by argv on the sandbox's login node, or on node ("3" or "node3"), in the
 * same current directory. Returns -1 only on failure. */
int sandbox_exec(const struct sandbox *sb, const char *node, char *const argv[], struct err *e);

#endif
