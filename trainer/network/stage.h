/* SPDX-License-Identifier: BSD-3-Clause */
/* A network's runs and memory on a device: its arena, and slots of pinned host memory for images
 * and targets. While the device computes on one slot's images, the host fills the next. */
#ifndef UNETCTL_TRAINER_NETWORK_STAGE_H
#define UNETCTL_TRAINER_NETWORK_STAGE_H

#include "src/err.h"
#include "trainer/core/device.h"
#include "trainer/core/graph.h"
#include "trainer/network/recordings.h"

/* What happens to the results of a run when it has been waited for. */
enum stage_run {
    STAGE_NONE,     /* they are ignored */
    STAGE_LOSS,     /* the loss is added to stage.loss */
    STAGE_REPORTED, /* the same, and stage.done is called with them */
    STAGE_EMPTY,    /* stage.done is called; the loss is undefined and ignored */
};

struct stage {
    const struct device_ops *ops;
    struct device *device;
    int slot; /* the next one to be filled */
    void *host[DEVICE_SLOTS]; /* pinned: images, then targets */
    size_t host_size[DEVICE_SLOTS];
    void *logits; /* pinned */
    size_t logits_size;
    void *arena; /* on the device */
    size_t arena_size;
    /* The graph whose ops' begin has run in this arena, with the present weights; NULL: none.
     * Whatever changes weights or the arena sets it to NULL. */
    const struct graph *kept;
    double loss; /* sum over completed runs; network_wait resets it */
    /* Called when a run was recorded, with why NULL, or could not be. Sets *all to whether it is
     * replayed: it was recorded on all replicas that share it. */
    int (*agree)(void *arg, const struct recording *r, const struct err *why, bool *all,
                 struct err *e);
    void *agree_arg;
    enum stage_run runs[DEVICE_SLOTS]; /* in flight */
    void (*done)(void *arg, const struct device_sums *sums); /* or NULL */
    void *done_arg;
};

int stage_open(struct stage *s, const struct device_ops *ops, int index, struct err *e);
void stage_close(struct stage *s); /* s may be all zeros */

/* Grows the arena to at least nbytes. If *moved is set, its address has changed and its contents
 * are lost. */
int stage_reserve(struct stage *s, size_t nbytes, bool *moved, struct err *e);

/* Sets *nbytes to the size that the arena could grow to. */
int stage_room(struct stage *s, size_t *nbytes, struct err *e);

/* Returns the buffer for the graph's next input, followed by its target; valid until stage_run or a
 * call with another graph. Waits for the slot's earlier run. NULL on error. */
float *stage_input(struct stage *s, const struct graph *g, struct err *e);

/* A run. ready (see graph_run) is called whenever ops are queued, with 0 and then with what is
 * ready: not when a recording is replayed, and twice when one cannot be made. */
struct stage_work {
    struct graph *graph; /* NULL: only calls ready */
    struct recording *recording; /* NULL: ops are queued in each run */
    enum stage_run kind;
    int (*ready)(void *arg, size_t upto, struct err *e);
    void *arg;
    size_t upto; /* the argument of ready if there is no graph */
};

/* Queues the copy of the input, a run of all ops, and the update of x if it has one. */
int stage_run(struct stage *s, const struct stage_work *w, struct exec *x, struct err *e);

/* Waits for all runs and returns the logits of the last; valid until the next call. */
const float *stage_logits(struct stage *s, const struct graph *g, struct err *e);

/* Waits for all runs, the oldest first. */
int stage_wait(struct stage *s, struct err *e);

#endif
