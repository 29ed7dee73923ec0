/* SPDX-License-Identifier: BSD-3-Clause */
/* The tasks of a run: how many on how many nodes, and the specification that each of them gets. */
#pragma once

#include "src/base.h"
#include "src/cluster/nodelist.h"

/* Computes the nodes, tasks and devices for a number of GPUs. A pure function. */
enum layout_strategy {
    LAYOUT_AUTO,        /* mirrored where the GPUs fit on one node, else multi-worker */
    LAYOUT_MIRRORED,    /* one task has all GPUs of the run, on one node */
    LAYOUT_MULTI_WORKER /* one task per GPU */
};

struct layout {
    int gpus;
    int nodes;
    int tasks;
    /* on the fullest node; the last may have fewer (3 GPUs on nodes of 2: 2 + 1) */
    int tasks_per_node;
    int gpus_per_task;
    enum layout_strategy strategy; /* never LAYOUT_AUTO */
};

/* Computes the layout of gpus devices on nodes that have gpus_per_node each. Returns 0, or -1
 * with ERR_CONFIG: a count is below 1, or mirrored was asked for more GPUs than a node has. */
int layout_compute(int gpus, int gpus_per_node, enum layout_strategy strategy, struct layout *dst,
                   struct err *e);

/* Returns the name: "auto", "mirrored" or "multi-worker". */
const char *layout_strategy_encode(enum layout_strategy strategy);

/* Returns 0, or -1 with ERR_CONFIG that lists the names. */
int layout_strategy_decode(const char *name, enum layout_strategy *dst, struct err *e);

/* The cluster specification: the tasks of this run, their addresses, and which of them this
 * process is. TensorFlow's TF_CONFIG exactly, one line:
 *
 *   {"cluster":{"worker":["host:port",...]},"task":{"type":"worker","index":I}}
 *
 * with other types of task than "worker" if struct cluster_spec has jobs. A slot is a task's number
 * on its node, from 0. The task in slot s listens at port_base + s. */
enum cluster_spec_order {
    CLUSTER_SPEC_SLURM, /* nodes in the order of the list, as Slurm numbers its tasks */
    CLUSTER_SPEC_TF     /* nodes sorted by name, as TensorFlow's SlurmClusterResolver does */
};

/* A type of task ("worker", "ps", "chief", "evaluator"; TensorFlow's word is job) and how many
 * tasks of it there are. */
struct cluster_spec_job {
    char name[32];
    size_t count;
};

#define CLUSTER_SPEC_JOBS_MAX 16
#define CLUSTER_SPEC_TASKS_MAX ((size_t)1 << 22) /* their specification has about 100 MB */
#define CLUSTER_SPEC_SUFFIX_MAX 63

struct cluster_spec {
    const struct nodelist *nodes; /* each node once */
    const int *tasks;             /* tasks of each node, at least 1, in the order of nodes */
    size_t rank;                  /* the rank of this task */
    int port_base;
    enum cluster_spec_order order;
    /* How many consecutive ranks a node gets before the next node has its turn: 0 means all of
     * its ranks (Slurm's block distribution), 1 is cyclic, N is plane=N. */
    int plane;
    /* The first ranks are the tasks of the first type, the next ranks those of the second, and so
     * on. Types are sorted by name for CLUSTER_SPEC_TF, otherwise they have the order written.
     * With njobs 0 all tasks are of one type, "worker". */
    struct cluster_spec_job jobs[CLUSTER_SPEC_JOBS_MAX];
    size_t njobs;
    int gpus_per_node, gpus_per_task; /* checked when gpus_per_task > 0 */
    const char *host_suffix;          /* appended to each node's name; may be NULL */
};

/* Appends the specification to dst, without a newline. Returns 0, or -1 with ERR_PEER: the rank is
 * out of range, a node appears twice, ports exceed 65535, there are too many tasks or several of
 * type chief or evaluator (except for CLUSTER_SPEC_TF), the counts of the types do not add up to
 * the number of tasks, or a node needs more than gpus_per_node GPUs; ERR_USAGE: host_suffix is too
 * long. */
int cluster_spec_encode(const struct cluster_spec *spec, struct buf *dst, struct err *e);

/* Appends what torchrun gives the task spec->rank as variables, one "NAME=VALUE" per line, the
 * last without a newline: RANK, WORLD_SIZE, LOCAL_RANK (the slot), LOCAL_WORLD_SIZE, GROUP_RANK
 * (the number of the node), MASTER_ADDR and MASTER_PORT (of task 0). Errors are those of
 * cluster_spec_encode. */
int cluster_spec_encode_env(const struct cluster_spec *spec, struct buf *dst, struct err *e);

struct cluster_spec_task {
    const char *host; /* without the suffix; lives as long as spec->nodes */
    size_t node;      /* from 0, in the order of spec->order */
    int slot, port, node_tasks; /* node_tasks: the number of tasks on the node */
    char type[32];
    size_t index; /* among the tasks of its type */
};

/* Finds the task of a rank. Errors are those of cluster_spec_encode. */
int cluster_spec_find(const struct cluster_spec *spec, size_t rank, struct cluster_spec_task *dst,
                      struct err *e);

/* Finds a task by its type and its index within the type. ERR_USAGE if there is none; otherwise
 * errors are those of cluster_spec_encode. */
int cluster_spec_find_type(const struct cluster_spec *spec, const char *type, size_t index,
                           struct cluster_spec_task *dst, struct err *e);

/* Decodes "ps:1,worker:2" or "ps=1,worker=2" into spec->jobs and njobs. Returns 0, or -1 with
 * ERR_USAGE. */
int cluster_spec_decode_jobs(const char *text, struct cluster_spec *spec, struct err *e);
