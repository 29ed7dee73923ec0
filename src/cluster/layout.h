/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the nodes, tasks and devices for a number of GPUs. A pure function. */
#ifndef UNETCTL_SRC_CLUSTER_LAYOUT_H
#define UNETCTL_SRC_CLUSTER_LAYOUT_H

#include "src/err.h"

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

#endif
