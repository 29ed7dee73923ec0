/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface to Slurm: through libslurm (library.c, the program unetctl-slurm) or through
 * Slurm's commands (commands.c, unetctl-slurm-commands). Both programs serve the same requests
 * (serve.h), which PROTOCOL.md describes. Functions that return json_t * return a new reference. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_INTERFACE_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_INTERFACE_H

#include <jansson.h>

#include "launcher/scheduler/slurm/cluster.h"

struct slurm_interface {
    json_t *(*ping)(void);

    /* Fills dst, which is empty. Returns NULL, or a refusal. */
    json_t *(*load_cluster)(struct cluster *dst);

    /* Returns whether and when Slurm would start a job. away is the number of nodes of its
     * partition that are down, drained or do not respond. */
    json_t *(*forecast)(const json_t *job, int away);

    /* Reads the script of a job that request_check_job has accepted, and submits it. */
    json_t *(*submit)(const json_t *job);

    /* Replaces the answers of submitted jobs that can never start, and cancels those jobs.
     * answers[i] is NULL for a job that was not submitted. May be NULL if submit finds that out
     * itself. */
    void (*review)(json_t **answers, size_t count);

    json_t *(*query)(const json_t *request);  /* has "tag_prefix" */
    json_t *(*lookup)(const json_t *ids);     /* a list of decimal numbers as strings */
    json_t *(*accounting)(const json_t *request);
    json_t *(*cancel)(const char *id);      /* id is a decimal number */
    json_t *(*release_job)(const char *id); /* a job that is held */
};

#endif
