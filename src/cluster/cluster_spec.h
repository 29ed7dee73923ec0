/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster specification: the tasks of this run, their addresses, and the number of this one.
 * TensorFlow's TF_CONFIG exactly, one line:
 *
 *   {"cluster":{"worker":["host:port",...]},"task":{"type":"worker","index":I}}
 *
 * The task in slot s of a node listens at port_base + s. */
#ifndef UNETCTL_SRC_CLUSTER_CLUSTER_SPEC_H
#define UNETCTL_SRC_CLUSTER_CLUSTER_SPEC_H

#include <stddef.h>

#include "src/buf.h"
#include "src/cluster/nodelist.h"
#include "src/err.h"

enum cluster_spec_order {
    CLUSTER_SPEC_SLURM, /* nodes in the order of the list, as Slurm numbers its tasks */
    CLUSTER_SPEC_TF     /* nodes sorted by name, as TensorFlow's SlurmClusterResolver does */
};

/* A type of task ("worker", "ps", "chief", "evaluator") and how many there are. */
struct cluster_spec_job {
    char name[32];
    size_t count;
};

#define CLUSTER_SPEC_JOBS_MAX 16
#define CLUSTER_SPEC_TASKS_MAX ((size_t)1 << 22) /* some 100 MB of text */
#define CLUSTER_SPEC_SUFFIX_MAX 63

struct cluster_spec {
    const struct nodelist *nodes; /* each node once */
    const int *tasks;             /* of each node, in the order of nodes; each at least 1 */
    size_t rank;                  /* of this task */
    int port_base;
    enum cluster_spec_order order;
    /* The number of consecutive ranks on a node before the next node has its turn: 0 all of them
     * (Slurm's block distribution), 1 cyclic, N plane=N. */
    int plane;
    /* The addresses are dealt to the jobs: in the order of their names for CLUSTER_SPEC_TF, else as
     * written. njobs 0: one job, "worker", of all tasks. */
    struct cluster_spec_job jobs[CLUSTER_SPEC_JOBS_MAX];
    size_t njobs;
    int gpus_per_node, gpus_per_task; /* checked when gpus_per_task > 0 */
    const char *host_suffix;          /* put behind each node's name; may be NULL */
};

/* Append the specification to dst, without newline. 0, or -1 with ERR_PEER: rank out of range, a
 * node twice, ports beyond 65535, too many tasks, the jobs' counts are not the number of tasks, or
 * a node has more tasks x gpus_per_task than GPUs. Takes about 1 ms for 80000 tasks. */
int cluster_spec_encode(const struct cluster_spec *spec, struct buf *dst, struct err *e);

/* The same ranks as variables, "NAME=VALUE" a line: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * GROUP_RANK (number of the node), MASTER_ADDR and MASTER_PORT (of task 0), as torchrun names
 * them. */
int cluster_spec_encode_env(const struct cluster_spec *spec, struct buf *dst, struct err *e);

struct cluster_spec_task {
    const char *host; /* without suffix; lives as long as the nodes */
    size_t node;      /* its number, from 0 */
    int slot, port, node_tasks; /* node_tasks: how many tasks the node has */
    char type[32];
    size_t index; /* within its type */
};

/* The task of a rank. Errors as for cluster_spec_encode. */
int cluster_spec_find(const struct cluster_spec *spec, size_t rank, struct cluster_spec_task *dst,
                      struct err *e);

/* The task of a type and its index within it; ERR_USAGE: there is none. */
int cluster_spec_find_type(const struct cluster_spec *spec, const char *type, size_t index,
                           struct cluster_spec_task *dst, struct err *e);

/* "ps:1,worker:2" or "ps=1,worker=2" into spec->jobs. 0, or -1 with ERR_USAGE. */
int cluster_spec_decode_jobs(const char *text, struct cluster_spec *spec, struct err *e);

#endif
