/* SPDX-License-Identifier: BSD-3-Clause */
/* A sandbox: a private, real Slurm with several imitated nodes on this machine, all in one folder.
 * Scripts start and stop it; these functions find it and enter it. Its nodes are sets of
 * namespaces (mode netns) or, where those are not allowed, all the machine itself (mode flat).
 * The folder is its owner's alone; doc/SLURM.md, "Sandbox", says against whom it is protected.
 *
 * sandbox-up writes sandbox.conf, from which sandbox_load reads struct sandbox; the struct is a
 * plain value and may be copied. The verb sandbox, the scheduler, scripts and the doctor call it:
 * with a sandbox, the commands of Slurm run by sandbox_exec on its login node, and without one on
 * this machine, so that everything above is the same for both. A folder that another user owns or
 * may write in is refused, since commands would run as that user says.
 *
 * Read sandbox_load and sandbox_exec in sandbox.c, then sandbox-up and sandbox-init. */
#pragma once

#include "src/base.h"
#include <sys/types.h>

struct sandbox {
    char dir[PATH_MAX];
    char mode[8]; /* "netns" or "flat"; "" if there is no sandbox in dir */
    int userns;   /* 1: its namespaces belong to an ordinary user */
    int nodes, gpus_per_node, cpus_per_node;
    int pmix;     /* 1: its srun can start MPI ranks by itself (--mpi=pmix) */
    int accounting; /* 1: it has a slurmdbd */
    pid_t holder; /* the process that owns its namespaces */
    bool inside;  /* this process is inside it */
    char host[64]; /* the other host on which it was started; "": this one */
    /* false if it was never started, was stopped or killed, or the machine was rebooted */
    bool running;
};

/* Finds the folder that `sandbox up` uses without --dir: $UNETCTL_SANDBOX, or "sandbox" in the
 * user's state folder (host/path.h). */
int sandbox_default_dir(char dst[PATH_MAX], struct err *e);

/* Reads the state of the sandbox in dir. One that does not exist or does not run is not an error.
 * Returns 0, or -1: with ERR_DATA if its file sandbox.conf is damaged, with ERR_USAGE if another
 * user owns dir or may write in it. */
int sandbox_load(const char *dir, struct sandbox *dst, struct err *e);

/* Finds a running sandbox: the one that this process is in, the default one, or (without
 * $UNETCTL_SANDBOX) the one started last. Returns 0, or -1: with ERR_SCHED if none runs. */
int sandbox_find(struct sandbox *dst, struct err *e);

/* Returns 0, or -1 with ERR_SCHED if sb does not run. */
int sandbox_require(const struct sandbox *sb, struct err *e);

/* Finds the file in which sandbox-up notes the folder of the sandbox started last, and creates
 * the file's folder. */
int sandbox_note_path(char dst[PATH_MAX], struct err *e);

/* Replaces this process by argv on the sandbox's login node, or on node ("3" or "node3"), in the
 * same current directory. In mode flat, all of them are this machine. Returns, with -1, only if
 * that failed. */
int sandbox_exec(const struct sandbox *sb, const char *node, char *const argv[], struct err *e);
