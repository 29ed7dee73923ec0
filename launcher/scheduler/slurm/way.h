/* SPDX-License-Identifier: BSD-3-Clause */
/* How Slurm is asked: through libslurm (library.c, the program unetctl-slurm) or through Slurm's
 * commands (commands.c, unetctl-slurm-commands). Both programs serve the same requests (serve.h);
 * PROTOCOL.md describes them. A function that returns json_t * returns a new reference. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_WAY_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_WAY_H

#include <jansson.h>

#include "launcher/scheduler/slurm/cluster.h"

struct way {
    json_t *(*ping)(void);

    /* Fills dst, which cluster_destroy frees. NULL, or a refusal. */
    json_t *(*load_cluster)(struct cluster *dst);

    /* Whether and when Slurm would start a job that fits its partition, of which away nodes are
     * down. */
    json_t *(*forecast)(const json_t *job, int away);

    /* Begins the forecast of a job that will be asked for (optional). */
    json_t *(*foresee)(json_t *job);

    /* A job's way into Slurm, in this order. prepare checks the job before any other one is
     * submitted, load_script follows when its script exists, submit may run in several threads.
     * The first two return NULL or a refusal; release is due in any case. job outlives *dst. */
    json_t *(*prepare)(const json_t *job, void **dst);
    json_t *(*load_script)(void *prepared, const json_t *job);
    json_t *(*submit)(void *prepared, const json_t *job);
    void (*release)(void *prepared);

    /* Replaces the answers of submitted jobs that could never start, and cancels those (optional:
     * submit may know at once). answers[i]: NULL for a job that was not tried. */
    void (*review)(json_t **answers, size_t count);

    json_t *(*query)(const json_t *request);
    json_t *(*accounting)(const json_t *request);
    json_t *(*cancel)(const char *id); /* a decimal number */
};

#endif
