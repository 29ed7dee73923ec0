/* SPDX-License-Identifier: BSD-3-Clause */
/* A network's place on a device: its arena there, and slots of pinned host memory from which images
 * go there. While one slot's images are computed on, the next is filled. */
#ifndef UNETCTL_TRAINER_CORE_STAGE_H
#define UNETCTL_TRAINER_CORE_STAGE_H

#include "src/err.h"
#include "trainer/core/device.h"
#include "trainer/core/graph.h"

struct stage {
    const struct device_ops *ops;
    struct device *device;
    int slot; /* the next one to be filled */
    void *host[DEVICE_SLOTS];
    size_t host_size[DEVICE_SLOTS];
    void *logits;
    size_t logits_size;
    void *arena;
    size_t arena_size;
    double loss; /* of runs that were waited for, and not yet asked for */
};

int stage_open(struct stage *s, const struct device_ops *ops, int index, struct err *e);
void stage_close(struct stage *s); /* a zeroed one is fine */

/* At least nbytes of arena; what was in it is lost when it moves. */
int stage_reserve(struct stage *s, size_t nbytes, bool *moved, struct err *e);

/* Bytes that the arena could have. */
int stage_room(struct stage *s, size_t *nbytes, struct err *e);

/* Where the host puts the graph's next input, its target behind it; valid until stage_run or a call
 * with another graph. Waits for the slot's earlier run. */
float *stage_input(struct stage *s, const struct graph *g, struct err *e);

/* Queue the input, and a run of all ops. *program: NULL, or what an earlier run of this graph with
 * this arena left there: from the second one on a run is recorded, the same for all later ones.
 * may_record: no op needs the host. */
int stage_run(struct stage *s, struct graph *g, struct exec *x, bool may_record, int *nruns,
              struct device_program **program, struct err *e);

/* The logits of the last run, when all is done. Valid until the next call. */
const float *stage_logits(struct stage *s, const struct graph *g, struct err *e);

/* Until all is done. */
int stage_wait(struct stage *s, struct err *e);

#endif
