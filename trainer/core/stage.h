/* SPDX-License-Identifier: BSD-3-Clause */
/* A network's place on a device: its arena there, and slots of pinned host memory from which images
 * go there. While one slot's images are computed on, the next is filled. */
#ifndef UNETCTL_TRAINER_CORE_STAGE_H
#define UNETCTL_TRAINER_CORE_STAGE_H

#include "src/err.h"
#include "trainer/core/device.h"
#include "trainer/core/graph.h"

enum stage_run {
    STAGE_NONE,  /* nothing of it is kept here */
    STAGE_QUIET, /* only its loss is kept */
    STAGE_TOLD,  /* and done is called with what it leaves */
    STAGE_EMPTY, /* told, but its loss means nothing */
};

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
    enum stage_run runs[DEVICE_SLOTS]; /* what is under way */
    void (*done)(void *arg, const struct device_sums *sums); /* of runs that are told; NULL */
    void *done_arg;
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

/* What is to be run. *program: NULL, or what an earlier run of this graph with this arena left there:
 * from the second one on a run is recorded, the same for all later ones; ready, which graph_run
 * takes, is then called for those two only. */
struct stage_work {
    struct graph *graph; /* NULL: ready is all there is to do */
    bool may_record;     /* no op needs the host */
    enum stage_run kind;
    int *nruns;
    struct device_program **program;
    int (*ready)(void *arg, size_t upto, struct err *e);
    void *arg;
    size_t upto; /* without a graph: what ready is called with */
};

/* Queue the input, and a run of all ops. */
int stage_run(struct stage *s, const struct stage_work *w, struct exec *x, struct err *e);

/* The logits of the last run, when all is done. Valid until the next call. */
const float *stage_logits(struct stage *s, const struct graph *g, struct err *e);

/* Until all is done, the oldest run first. */
int stage_wait(struct stage *s, struct err *e);

#endif
