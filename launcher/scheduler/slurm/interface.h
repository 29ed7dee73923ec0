/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries to Slurm: through libslurm (library.c, the program unetctl-slurm) or through
 * Slurm's commands (commands.c, unetctl-slurm-commands). Both programs answer the same queries
 * (serve.h), which PROTOCOL.md describes. Functions that return json_t * return a new reference. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_INTERFACE_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_INTERFACE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "launcher/scheduler/slurm/cluster.h"

/* What is needed of slurm.conf. */
struct slurm_config {
    char cluster[256];
    bool hides_jobs;        /* users are shown only their own (PrivateData=jobs) */
    bool has_slurmdbd;
    char jobcomp[PATH_MAX]; /* the file of jobcomp/filetxt, or "" */
};

struct slurm_interface {
    /* Fills dst, which is zeroed. Returns NULL, or a refusal. */
    json_t *(*load_config)(struct slurm_config *dst);

    /* Fills dst, which is empty. Returns NULL, or a refusal. */
    json_t *(*load_cluster)(struct cluster *dst);

    /* Append jobs to a list: those whose tag begins with prefix, of this user or of everybody, and
     * those of any user that have one of these ids, decimal numbers as strings. Return NULL, or a
     * refusal. */
    json_t *(*query)(const char *prefix, bool everybody, json_t *jobs);
    json_t *(*lookup)(const json_t *ids, json_t *jobs);
};

#endif
