/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a network that its device captures as graphs: the first run of a kind is queued op by
 * op, as libraries load their kernels in it, the second is captured, and later ones launch its
 * graph. Functions that return int return 0, or -1 with *e set. */
#ifndef UNETCTL_TRAINER_NETWORK_CAPTURES_H
#define UNETCTL_TRAINER_NETWORK_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/core/kernel.h"

/* A kind of run. shares: network_step.shares of several replicas, else 0. */
struct capture {
    const struct graph *graph; /* NULL: a step without images that runs none */
    bool updates;
    uint64_t shares;
    bool has_run;
    struct device_graph *device_graph; /* NULL: not captured, or discarded */
    struct capture *next;
};

struct captures {
    const struct device_ops *ops;
    struct capture *first; /* newest first */
    bool moved; /* set by captures_moved, reset by captures_forget and by the network */
};

/* Returns the entry of a kind of run, which is added if it is new; NULL: out of memory. */
struct capture *captures_get(struct captures *r, const struct graph *graph, bool updates,
                             uint64_t shares, struct err *e);

/* Returns whether there is an entry with these shares. */
bool captures_know(const struct captures *r, uint64_t shares);

/* Both discard all graphs, which the next runs capture again: captures_moved because the memory
 * of this replica has moved, captures_forget on all replicas at the same point. */
void captures_moved(struct captures *r);
void captures_forget(struct captures *r);

/* Discards and frees all. */
void captures_release(struct captures *r);

#endif
