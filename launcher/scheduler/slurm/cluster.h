/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cluster has. Slurm may withhold nodes and partitions from a user. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_CLUSTER_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>

struct slurm_interface;

struct cluster_partition {
    char *name;
    bool is_default, is_up;
    int max_time_min;  /* 0: not limited */
    int nodes;         /* including nodes that are away or unseen */
    int gpus_per_node; /* the largest number of any node */
    int cpus_per_node; /* the smallest number */
    int away;          /* nodes that are down, drained or do not respond, counted in nodes, too */
    /* Nodes that Slurm does not show to this user, because of PrivateData=nodes or because they
     * are powered-down nodes of a cloud; counted in nodes, but not in the other members. */
    int unseen;
};

struct cluster {
    struct cluster_partition *partitions;
    size_t count;
    bool is_private; /* Slurm does not show its partitions to this user */
};

/* Appends a partition without nodes and returns it, or NULL if memory ran out. The pointer is
 * valid until the next call. */
struct cluster_partition *cluster_add(struct cluster *c, const char *name);

/* Counts one more node of p. gres is in Slurm's notation, such as "gpu:h200:4(S:0-1),mps:100", or
 * NULL. */
void cluster_add_node(struct cluster_partition *p, int cpus, const char *gres, bool is_away);

/* Sets the number of all nodes of p, when those that Slurm shows have been added. */
void cluster_set_total(struct cluster_partition *p, int nodes);

/* Returns the answer to the request "partitions" of PROTOCOL.md, at most two seconds old, since
 * many jobs are checked in a row. */
json_t *cluster_partitions(const struct slurm_interface *slurm);

#endif
