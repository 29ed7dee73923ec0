/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a network: the runs on its device, and its compiled graphs. */
#pragma once

#include "trainer/network/network.h"

/* The runs of a network that its device captures as graphs: the first run of a kind is queued op by
 * op, as libraries load their kernels in it, the second is captured, and later ones launch its
 * graph. Functions that return int return 0, or -1 with *e set. */

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

/* A network's runs and memory on a device: its arena, and slots for batches. While the device
 * computes on one slot's images, the next are copied. */

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
int runner_room(const struct runner *s, size_t *nbytes, struct err *e);

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

/* The initial weights of a training. */

/* Creates the parameters of a training graph, in the reverse order of their first use, which is the
 * order in which backward finishes their gradients. The values of each depend only on the seed and
 * its name. ops, device: as in struct weights. The caller destroys the result; NULL on error. */
struct weights *first_weights_create(const struct graph *g, uint64_t seed,
                                     const struct device_ops *ops, struct device *device,
                                     struct err *e);

/* The compiled graphs of a network, one for each mode and batch size. Each is built when it is
 * first needed, and kept. All share one arena, on the host or on the device. */

enum compiled_mode { COMPILED_INFER, COMPILED_TRAIN, COMPILED_MEASURE };

struct compiled {
    enum compiled_mode mode;
    struct graph *graph; /* bound to memory */
    int batch;
    struct compiled *next;
};

struct network {
    struct network_config config; /* its strings belong to model and backend */
    float *class_weights;
    const struct model *model;
    const struct backend *backend;
    struct weights *weights;
    uint64_t plan_hash;
    struct runner runner; /* its device is NULL on the host; if it has one, it has the arena */
    struct arena arena;
    struct compiled *compiled; /* newest first */
    network_sum_f sum;
    void *sum_arg;
    struct network_link link;
    struct captures captures; /* contain addresses in the arena */
    bool may_capture; /* this replica's own runs are captured (not with UNET_CAPTURE=off) */
    bool may_capture_sums; /* and those with sums over replicas */
};

/* Returns a graph of the model, with its gradients in mode COMPILED_TRAIN, that is not compiled;
 * the caller destroys it. */
struct graph *compiled_build(const struct network *n, enum compiled_mode mode, int batch,
                             struct err *e);

/* Returns the graph of this mode and batch size, which is built if needed. NULL on error:
 * ERR_CONFIG if batch is below 1 or needs more memory than the device has, or the backend has no
 * kernel for an op; ERR_INTERNAL if the host has no memory. */
struct compiled *compiled_get(struct network *n, enum compiled_mode mode, int batch,
                              struct err *e);

/* Frees all graphs and the host's arena. The device must be idle. */
void compiled_release(struct network *n);

/* Sum the operations and bytes of a run, as network_count, and print the times of a graph that ran
 * with g->timed, as network_print_times. */
void profile_sum(const struct graph *g, double *flop, double *bytes);
void profile_print(const struct graph *g, const struct profile_peak *peak, FILE *out);
