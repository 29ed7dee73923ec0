/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cluster has, and whether a job is too large for it. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_CLUSTER_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>

struct way;

struct cluster_partition {
    char *name;
    bool is_default, is_up;
    int max_time_min;  /* 0: no limit */
    int nodes;         /* all of them */
    int gpus_per_node; /* the most that one of them has */
    int cpus_per_node; /* the fewest */
    int away;          /* nodes that are down, drained or silent */
};

struct cluster {
    struct cluster_partition *partitions;
    size_t count;
};

/* Appends a partition without nodes and returns it, or NULL without memory. */
struct cluster_partition *cluster_add(struct cluster *c, const char *name);

/* Counts one more node. gres: as Slurm writes it, e.g. "gpu:h200:4(S:0-1),mps:100", or NULL. */
void cluster_add_node(struct cluster_partition *p, int cpus, const char *gres, bool is_away);

void cluster_destroy(struct cluster *c);

/* The answer to "partitions". */
json_t *cluster_partitions(const struct way *way);

/* Returns NULL, or why the job can never run here. *away: nodes of its partition that are down,
 * drained or silent. */
json_t *cluster_check(const struct way *way, const json_t *job, int *away);

#endif
