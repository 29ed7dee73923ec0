/* SPDX-License-Identifier: BSD-3-Clause */
/* Submits several jobs concurrently. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SUBMISSION_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SUBMISSION_H

#include <jansson.h>

struct way;

/* Returns the answer to "submit". If the jobs become ready later, reads the "ready" lines from
 * stdin. */
json_t *submission_answer(const struct way *way, const json_t *request);

#endif
