/* SPDX-License-Identifier: BSD-3-Clause */
/* Submits several jobs concurrently. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SUBMISSION_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SUBMISSION_H

#include <jansson.h>

struct way;

/* The answer to "submit"; reads the "ready" lines that follow a fed one from stdin. */
json_t *submission_answer(const struct way *way, const json_t *request);

#endif
