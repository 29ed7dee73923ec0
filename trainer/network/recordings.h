/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a network that its device records: the first run of a kind is queued op by op, as
 * libraries load their kernels in it, the second is recorded, and later ones replay the recording.
 * Functions that return int return 0, or -1 with *e set. */
#ifndef UNETCTL_TRAINER_NETWORK_RECORDINGS_H
#define UNETCTL_TRAINER_NETWORK_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/device.h"
#include "trainer/core/graph.h"

/* A kind of run. shares: network_step.shares where replicas are linked, else 0. */
struct recording {
    const struct graph *graph; /* NULL: a step without images that runs none */
    bool updates;
    uint64_t shares;
    bool has_run;
    struct device_graph *captured; /* NULL: not captured, or discarded */
    struct recording *next;
};

struct recordings {
    const struct device_ops *ops;
    struct recording *first; /* newest first */
    bool moved; /* set by recordings_moved, reset by recordings_forget and by the network */
};

/* Returns the recording of a kind of run, which is added if it is new; NULL: out of memory. */
struct recording *recordings_get(struct recordings *r, const struct graph *graph, bool updates,
                                 uint64_t shares, struct err *e);

/* Returns whether there is a recording with these shares. */
bool recordings_know(const struct recordings *r, uint64_t shares);

/* Both discard all graphs, which the next runs capture again: recordings_moved because the memory
 * of this replica has moved, recordings_forget on all linked replicas at the same point. */
void recordings_moved(struct recordings *r);
void recordings_forget(struct recordings *r);

/* Frees all. The device must be idle. */
void recordings_release(struct recordings *r);

#endif
