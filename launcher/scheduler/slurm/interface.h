/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface to Slurm: through libslurm (library.c, the program unetctl-slurm) or through
 * Slurm's commands (commands.c, unetctl-slurm-commands). Both programs serve the same requests
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

    /* Returns whether and when Slurm would start a job. away is the number of nodes of its
     * partition that are down, drained or do not respond. */
    json_t *(*forecast)(const json_t *job, int away);

    /* Reads the script of a job that message_check_job has accepted, and submits it. */
    json_t *(*submit)(const json_t *job);

    /* Replaces the answers of submitted jobs that can never start, and cancels those jobs.
     * answers[i] is NULL for a job that was not submitted. May be NULL if submit finds that out
     * itself. */
    void (*review)(json_t **answers, size_t count);

    /* Append jobs to a list: those whose tag begins with prefix, of this user or of everybody, and
     * those of any user that have one of these ids, decimal numbers as strings. Return NULL, or a
     * refusal. */
    json_t *(*query)(const char *prefix, bool everybody, json_t *jobs);
    json_t *(*lookup)(const json_t *ids, json_t *jobs);

    /* Cancel the jobs with these ids, as far as they have not ended, and release one that is held;
     * ids are decimal numbers as strings. Return NULL, or a refusal. */
    json_t *(*cancel)(const json_t *ids);
    json_t *(*release_job)(const char *id);
};

#endif
