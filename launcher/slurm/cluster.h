/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cluster has, and whether a job is too large for it. */
#ifndef UNETCTL_LAUNCHER_SLURM_CLUSTER_H
#define UNETCTL_LAUNCHER_SLURM_CLUSTER_H

#include <jansson.h>

/* The answers to "ping" and "partitions". */
json_t *cluster_ping(void);
json_t *cluster_partitions(void);

/* NULL, or why the job can never run here. *away: nodes that it has to do without for now. */
json_t *cluster_check(const json_t *job, int *away);

#endif
