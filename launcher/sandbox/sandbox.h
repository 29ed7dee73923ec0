/* SPDX-License-Identifier: BSD-3-Clause */
/* A sandbox: a private, real Slurm of several fake nodes on this machine, all below one folder.
 * The scripts beside this file start and stop it; here is what finds it and enters it. */
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
    bool inside;  /* this process is in it already */
    bool running; /* false: never started, stopped, killed or gone with a reboot */
};

/* Where `sandbox up` puts it without --dir: $UNETCTL_SANDBOX, or
 * $XDG_STATE_HOME/unetctl/sandbox. */
int sandbox_default_dir(char dst[PATH_MAX], struct err *e);

/* What is known of the sandbox in dir; one that does not run is no error. */
int sandbox_load(const char *dir, struct sandbox *dst, struct err *e);

/* A running sandbox: the one in dir; for NULL the one we are in, the default one, or else (unless
 * $UNETCTL_SANDBOX chose) the one started last. ERR_SCHED when none runs. */
int sandbox_find(const char *dir, struct sandbox *dst, struct err *e);

/* ERR_SCHED when sb does not run. */
int sandbox_require(const struct sandbox *sb, struct err *e);

/* The file in which sandbox-up notes the folder of the sandbox started last; its folder is made. */
int sandbox_note_path(char dst[PATH_MAX], struct err *e);

/* Replace this process by argv as if typed on the sandbox's login node, or on node ("3" or
 * "node3"), in the same current directory. Returns -1 only if that failed. */
int sandbox_exec(const struct sandbox *sb, const char *node, char *const argv[], struct err *e);

#endif
