/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the job of a request and reads its script. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_REQUEST_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_REQUEST_H

#include <jansson.h>

/* Returns NULL, or a refusal that names a member that is missing or out of range. */
json_t *request_check_job(const json_t *job);

/* Sets *dst to the text of the job's script, which the caller frees. Returns NULL, or a refusal,
 * and then *dst is NULL. A script that does not begin with "#!" is refused. */
json_t *request_read_script(const json_t *job, char **dst);

#endif
