/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of the protocol as Slurm takes it. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_DESCRIPTION_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_DESCRIPTION_H

#include <jansson.h>
#include <slurm/slurm.h>

/* Everything that slurm_submit_batch_job needs and that we own. */
struct description {
    job_desc_msg_t msg;
    char *script;
    char task_tres[112], node_tres[96], bind[40];
    char **environment;
    size_t nenvironment;
    char *argv[1];
};

/* All but the script; an empty one stands for it. NULL, or a refusal; either way description_free
 * is due. job must live as long. */
json_t *description_load(struct description *d, const json_t *job);
void description_free(struct description *d);

/* The job's script, from its file. NULL, or a refusal. */
json_t *description_load_script(struct description *d, const json_t *job);

#endif
