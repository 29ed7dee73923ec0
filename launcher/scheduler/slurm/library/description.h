/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of the protocol, translated for libslurm. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_DESCRIPTION_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_DESCRIPTION_H

#include <jansson.h>
#include <slurm/slurm.h>

/* Everything that slurm_submit_batch_job needs and that this program owns. */
struct description {
    job_desc_msg_t msg;
    char *script;
    char task_tres[112], node_tres[96], bind[40]; /* what msg asks for per task and node, or "" */
    char **environment;
    size_t nenvironment;
    char *argv[1];
};

/* Loads the job and its script; an empty one stands for that of a job without one. Returns NULL, or
 * a refusal; description_free must be called in either case. job must outlive d. */
json_t *description_load(struct description *d, const json_t *job);
void description_free(struct description *d);

#endif
