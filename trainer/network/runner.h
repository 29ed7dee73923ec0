/* SPDX-License-Identifier: BSD-3-Clause */
/* A network's runs and memory on a device: its arena, and slots for batches. While the device
 * computes on one slot's images, the next are copied. */
#ifndef UNETCTL_TRAINER_NETWORK_RUNNER_H
#define UNETCTL_TRAINER_NETWORK_RUNNER_H

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/core/kernel.h"
#include "trainer/network/captures.h"

/* What happens to the results of a run when it has been waited for. */
enum runner_results {
    RUNNER_NONE,    /* they are ignored */
    RUNNER_TRAINED, /* the loss is added to runner.loss, and runner.done is called with them */
    RUNNER_EMPTY,   /* runner.done is called; the loss is undefined and ignored */
};

struct runner {
    const struct device_ops *ops;
    struct device *device;
    int slot; /* the next one to be filled */
    struct record_batch next;  /* of the next run; count 0: what is in host */
    void *host[DEVICE_SLOTS];  /* pinned: a record of floats */
    void *local[DEVICE_SLOTS]; /* on the device: records */
    size_t host_size[DEVICE_SLOTS], local_size[DEVICE_SLOTS];
    void *logits; /* pinned */
    size_t logits_size;
    void *arena; /* on the device */
    size_t arena_size;
    /* The graph whose ops' begin has run in this arena, with the present weights; NULL: none.
     * Whatever changes weights or the arena sets it to NULL. */
    const struct graph *kept;
    double loss; /* sum over completed runs; network_wait resets it */
    /* Called when a run was captured, with why NULL, or could not be. Sets *all to whether its
     * graph is launched: it was captured on all replicas that share it. */
    int (*agree)(void *arg, const struct capture *r, const struct err *why, bool *all,
                 struct err *e);
    void *agree_arg;
    enum runner_results runs[DEVICE_SLOTS]; /* in flight */
    void (*done)(void *arg, const struct device_sums *sums); /* or NULL */
    void *done_arg;
};

int runner_open(struct runner *s, const struct device_ops *ops, int index, struct err *e);
void runner_close(struct runner *s); /* s may be all zeros */

/* Grows the arena to at least nbytes. If *moved is set, its address has changed and its contents
 * are lost. */
int runner_reserve(struct runner *s, size_t nbytes, bool *moved, struct err *e);

/* Returns the bytes that slots for the graph's batches need on the device, beside the arena. */
size_t runner_slots_size(const struct graph *g);

/* Sets *nbytes to the size that arena and slots could grow to together. */
int runner_room(struct runner *s, size_t *nbytes, struct err *e);

/* Waits for the earlier run of the next run's slot: then at most DEVICE_SLOTS - 1 are in flight. */
int runner_await(struct runner *s, struct err *e);

/* Returns the record for the graph's next input and target, all images in one, as floats; valid
 * until runner_run or a call with another graph. Waits for the slot's earlier run. NULL on
 * error. */
struct record *runner_input(struct runner *s, const struct graph *g, struct err *e);

/* A run. ready (see graph_run) is called whenever ops are queued, with 0 and then with what is
 * ready: not when a graph is launched, and twice when a run cannot be captured. */
struct runner_work {
    struct graph *graph; /* NULL: only calls ready */
    struct capture *captured; /* NULL: ops are queued in each run */
    enum runner_results kind;
    int (*ready)(void *arg, size_t upto, struct err *e);
    void *arg;
    size_t upto; /* the argument of ready if there is no graph */
};

/* Queues the copy of the batch, a run of all ops, and the update of x if it has one. */
int runner_run(struct runner *s, const struct runner_work *w, struct exec *x, struct err *e);

/* Waits for all runs and returns the logits of the last; valid until the next call. */
const float *runner_logits(struct runner *s, const struct graph *g, struct err *e);

/* Waits for all runs, the oldest first. */
int runner_wait(struct runner *s, struct err *e);

#endif
