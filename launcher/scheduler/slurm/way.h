/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface to Slurm: through libslurm (library.c, the program unetctl-slurm) or through
 * Slurm's commands (commands.c, unetctl-slurm-commands). Both programs serve the same requests
 * (serve.h), which PROTOCOL.md describes. Functions that return json_t * return a new reference. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_WAY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_WAY_H

#include <jansson.h>

#include "launcher/scheduler/slurm/cluster.h"

struct way {
    json_t *(*ping)(void);

    /* Fills dst, which is empty. Returns NULL, or a refusal. */
    json_t *(*load_cluster)(struct cluster *dst);

    /* Returns whether and when Slurm would start a job that fits its partition. away is the
     * number of nodes of the partition that are down, drained or do not respond. */
    json_t *(*forecast)(const json_t *job, int away);

    /* Begins the forecast of a job that will be asked for later. May be NULL. */
    json_t *(*foresee)(json_t *job);

    /* The steps of a submission, in this order. prepare checks the job before any job is
     * submitted, and sets *dst, which is passed to the others as prepared. load_script is called
     * when the script exists. load_script and submit may run in several threads. prepare and
     * load_script return NULL or a refusal. release must be called in any case. job outlives
     * *dst. */
    json_t *(*prepare)(const json_t *job, void **dst);
    json_t *(*load_script)(void *prepared, const json_t *job);
    json_t *(*submit)(void *prepared, const json_t *job);
    void (*release)(void *prepared);

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
