/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster specification: who are the tasks of this run, where do they listen, which one am I.
 * TensorFlow's TF_CONFIG exactly, one line:
 *
 *   {"cluster":{"worker":["host:port",...]},"task":{"type":"worker","index":I}}
 *
 * The task in slot s of a node listens at port_base + s. Tasks are numbered node by node (Slurm's
 * block distribution). */
#ifndef UNETCTL_SRC_CLUSTER_SPEC_H
#define UNETCTL_SRC_CLUSTER_SPEC_H

#include <stddef.h>

#include "src/buf.h"
#include "src/err.h"
#include "src/nodelist.h"

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

struct cluster_spec {
    const struct nodelist *nodes; /* each node once */
    const int *tasks;             /* of each node, in the order of nodes; each at least 1 */
    size_t rank;                  /* of this task */
    int port_base;
    const char *host_suffix; /* goes behind each node's name, as in node7 + "i"; NULL: nothing */
    enum cluster_spec_order order;
    /* The addresses are dealt to the jobs in the order of their names, as SlurmClusterResolver
     * does. njobs 0: one job, "worker", of all tasks. */
    struct cluster_spec_job jobs[CLUSTER_SPEC_JOBS_MAX];
    size_t njobs;
    int gpus_per_node, gpus_per_task; /* checked when gpus_per_task > 0 */
};

/* Append the specification to dst, without newline. 0, or -1 with ERR_PEER: rank out of range, a
 * node twice, ports beyond 65535, the jobs' counts are not the number of tasks, or a node has more
 * tasks x gpus_per_task than GPUs. Takes about 1 ms for 80000 tasks. */
int cluster_spec_encode(const struct cluster_spec *spec, struct buf *dst, struct err *e);

/* The same ranks as variables, "NAME=VALUE" a line: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * GROUP_RANK (number of the node), MASTER_ADDR and MASTER_PORT (of task 0), as torchrun names them. */
int cluster_spec_encode_env(const struct cluster_spec *spec, struct buf *dst, struct err *e);

/* "ps:1,worker:2" into spec->jobs. 0, or -1 with ERR_USAGE. */
int cluster_spec_decode_jobs(const char *text, struct cluster_spec *spec, struct err *e);

#endif
