/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversation of PROTOCOL.md: requests on stdin and their answers on stdout, one JSON object
 * per line. Both helper programs are this and a struct slurm_interface: unetctl-slurm queries
 * through libslurm, unetctl-slurm-commands through Slurm's commands. Functions that return json_t *
 * return a new reference. */
#pragma once

#include "src/base.h"

#include <jansson.h>

#define CLUSTER_TYPES_SIZE 160
struct cluster_partition {
    char *name;
    bool is_default;
    int max_time_min;  /* 0: not limited */
    int nodes;         /* including nodes that are away or unseen */
    int gpus_per_node; /* the largest number of any node */
    int cpus_per_node; /* the smallest number */
    char gpu_types[CLUSTER_TYPES_SIZE]; /* of its nodes, with commas between */
    int away;          /* nodes that are down, drained or do not respond, counted in nodes, too */
    /* Nodes that Slurm does not show to this user, because of PrivateData=nodes or because they
     * are powered-down nodes of a cloud; counted in nodes, but not in the other members. */
    int unseen;
};

/* What the cluster has. Slurm may withhold nodes and partitions from a user. */
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

/* What is needed of slurm.conf. */
struct slurm_config {
    char cluster[256];
    bool hides_jobs;        /* users are shown only their own (PrivateData=jobs) */
    bool has_slurmdbd;
    char jobcomp[PATH_MAX]; /* the file of jobcomp/filetxt, or "" */
};

struct slurm_interface {
    /* Fills dst, which is zeroed. Returns NULL, or a refusal. */
    json_t *(*load_config)(struct slurm_config *dst);

    /* Fills dst, which is empty. Returns NULL, or a refusal. */
    json_t *(*load_cluster)(struct cluster *dst);

    /* Append jobs to a list: those whose tag begins with prefix, of this user or of everybody, and
     * those of any user that have one of these ids, decimal numbers as strings. Return NULL, or a
     * refusal. */
    json_t *(*query)(const char *prefix, bool everybody, json_t *jobs);
    json_t *(*lookup)(const json_t *ids, json_t *jobs);
};

/* Checks that there are no arguments, and that $SLURM_CONF, if set, can be read: Slurm would
 * wait a minute for the file to appear. Returns 0, or an exit code after printing the reason on
 * stderr. */
int serve_check_start(int argc, char **argv);

/* Answers requests on stdin until the end of input. */
void serve(const struct slurm_interface *slurm);
